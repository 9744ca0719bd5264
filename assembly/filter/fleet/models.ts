import { Candidates } from "../../policy/candidates";
import { HostModels, NameKind } from "../../state/hostmodels";
import { HostStates } from "../../state/hoststates";
import { MAX_HOSTS } from "../../state/layout";
import { HostFacts } from "./hostfacts";

/** Price of loading an adapter on a server that hasn't it, ms. */
const LOAD_ADAPTER_MS: f64 = 200;
/** Price of a server whose base model is another than that of the adapter's holders: the last resort, ms. */
const OTHER_BASE_MS: f64 = 60000;
/** Base models of an adapter's holders that are told apart. */
const BASES: i32 = 8;
/** Models that are remembered with whether all hosts serve them. */
const ASKED: i32 = 8;

/**
 * Keeps a request to the servers of its model, as far as their reports tell. Servers report the first of the names that they
 * serve, so a name that nobody reports as a base model excludes nobody; an adapter is preferred where it is loaded.
 */
export class Models {
  private kinds: StaticArray<u8> = new StaticArray<u8>(MAX_HOSTS);
  private bases: StaticArray<u64> = new StaticArray<u64>(BASES);
  private baseCount: i32 = 0;
  /** Models that were asked for, whether all serve each, and the version of the hosts' names of which that is. */
  private asked: StaticArray<u64> = new StaticArray<u64>(ASKED);
  private isCommon: StaticArray<u8> = new StaticArray<u8>(ASKED);
  private askedCount: i32 = 0;
  private version: u32 = 0;

  constructor(
    private states: HostStates,
    private facts: HostFacts,
  ) {}

  /**
   * Makes hosts unusable, or dearer, that don't serve the model.
   * @returns how many it made unusable
   */
  apply(c: Candidates, model: u64): i32 {
    // Where no host names its models nobody is known not to serve one.
    if (this.facts.naming == 0 || this.isServedByAll(c, model)) return 0;
    let served = false;
    let adapted = false;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot])) continue;
      const kind = this.states.at(slot).models.kindOf(model);
      unchecked((this.kinds[slot] = kind));
      if (kind == NameKind.Model) served = true;
      else if (kind != NameKind.None) adapted = true;
    }
    if (served) return this.exclude(c);
    if (adapted) this.charge(c);
    return 0;
  }

  /**
   * Whether every host that names models, and isn't known to be gone or unwell, names this one as its base model. So it is in
   * most fleets, and then it is found out once, not host by host for each request.
   */
  private isServedByAll(c: Candidates, model: u64): bool {
    const facts = this.facts;
    if (this.version != facts.namesVersion) {
      this.version = facts.namesVersion;
      this.askedCount = 0;
    }
    for (let i = 0; i < this.askedCount; i++) {
      if (unchecked(this.asked[i]) == model) return unchecked(this.isCommon[i]) != 0;
    }
    let isCommon = true;
    for (let slot = 0; slot < c.count && isCommon; slot++) {
      if (unchecked(facts.names[slot]) == 0) continue;
      isCommon = this.states.at(slot).models.kindOf(model) == NameKind.Model;
    }
    if (this.askedCount == ASKED) this.askedCount = 0;
    unchecked((this.asked[this.askedCount] = model));
    unchecked((this.isCommon[this.askedCount++] = isCommon ? 1 : 0));
    return isCommon;
  }

  private exclude(c: Candidates): i32 {
    let excluded = 0;
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot]) || unchecked(this.kinds[slot]) != NameKind.None) continue;
      if (this.states.at(slot).models.count == 0) continue;
      unchecked((c.usable[slot] = 0));
      excluded++;
    }
    return excluded;
  }

  private charge(c: Candidates): void {
    this.baseCount = 0;
    for (let slot = 0; slot < c.count; slot++) {
      if (unchecked(c.usable[slot]) && unchecked(this.kinds[slot]) != NameKind.None) {
        this.noteBases(this.states.at(slot).models);
      }
    }
    for (let slot = 0; slot < c.count; slot++) {
      if (!unchecked(c.usable[slot])) continue;
      const kind = unchecked(this.kinds[slot]);
      if (kind == NameKind.LoadedAdapter) continue;
      const fits = kind != NameKind.None || this.hasBase(this.states.at(slot).models);
      unchecked((c.surchargeMs[slot] += fits ? LOAD_ADAPTER_MS : OTHER_BASE_MS));
    }
  }

  private noteBases(models: HostModels): void {
    for (let i = 0; i < models.count && this.baseCount < BASES; i++) {
      const hash = models.hash(i);
      if (models.kind(i) != NameKind.Model || this.isBase(hash)) continue;
      unchecked((this.bases[this.baseCount++] = hash));
    }
  }

  private isBase(hash: u64): bool {
    for (let i = 0; i < this.baseCount; i++) if (unchecked(this.bases[i]) == hash) return true;
    return false;
  }

  /** Whether the server has a base model of the adapter's holders, or either side's is unknown. */
  private hasBase(models: HostModels): bool {
    if (this.baseCount == 0) return true;
    let known = false;
    for (let i = 0; i < models.count; i++) {
      if (models.kind(i) != NameKind.Model) continue;
      known = true;
      if (this.isBase(models.hash(i))) return true;
    }
    return !known;
  }
}
