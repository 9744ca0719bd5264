import { Candidates } from "../../../assembly/policy/candidates";
import { Choice, order } from "../../../assembly/policy/order";
import { Overview } from "../../../assembly/policy/overview";
import { price } from "../../../assembly/policy/price";
import { RequestCost } from "../../../assembly/policy/request";
import { Weights } from "../../../assembly/policy/weights";
import { mix } from "../../../assembly/prefix/hash";

/** `count` idle, unknown, equal hosts. */
function idle(count: i32): Candidates {
  const c = new Candidates();
  c.count = count;
  for (let slot = 0; slot < count; slot++) {
    c.usable[slot] = 1;
    c.room[slot] = 1;
    c.hash[slot] = mix(7, slot + 1);
    c.running[slot] = NaN;
    c.waiting[slot] = NaN;
    c.kvUsage[slot] = NaN;
    c.gpuUtilization[slot] = NaN;
    c.prefillFactor[slot] = 1;
    c.decodeFactor[slot] = 1;
  }
  return c;
}

function request(promptTokens: f64, key: u64): RequestCost {
  const r = new RequestCost();
  r.promptTokens = promptTokens;
  r.outputTokens = 100;
  r.key = key;
  r.meanWorkMs = 50;
  return r;
}

/** First choice. */
function choose(c: Candidates, r: RequestCost): i32 {
  const overview = new Overview();
  overview.take(c);
  price(c, overview, r, new Weights());
  const choice = new Choice();
  order(c, 1, choice);
  return choice.count > 0 ? choice.slots[0] : -1;
}

/** Share of 400 keys that choose a host. */
function shareOf(c: Candidates, slot: i32, promptTokens: f64): f64 {
  let hits = 0;
  for (let key = 1; key <= 400; key++) {
    if (choose(c, request(promptTokens, mix(key, 99))) == slot) hits++;
  }
  return <f64>hits / 400;
}

describe("price", () => {
  it("spreads cold requests over idle hosts, the same way each time", () => {
    const c = idle(4);
    for (let slot = 0; slot < 4; slot++) {
      const share = shareOf(c, slot, 200);
      expect(share > 0.17 && share < 0.33).toBe(true, share.toString());
    }
    expect(choose(c, request(200, 42))).toBe(choose(c, request(200, 42)));
  });

  it("prefers the host that has the prompt cached", () => {
    const c = idle(4);
    c.cachedTokens[2] = 4000;
    expect(shareOf(c, 2, 5000)).toBe(1);
  });

  it("passes a warm host over when its queue costs more than the prefill", () => {
    const c = idle(4);
    c.cachedTokens[2] = 4000;
    c.pendingMs[2] = 1000;
    expect(shareOf(c, 2, 5000)).toBe(0);
  });

  it("steers away from a busy host by each report alone", () => {
    const signals: string[] = ["running", "waiting", "kv", "gpu"];
    for (let i = 0; i < signals.length; i++) {
      const c = idle(2);
      for (let slot = 0; slot < 2; slot++) c.freshness[slot] = 1;
      const values =
        i == 0 ? c.running : i == 1 ? c.waiting : i == 2 ? c.kvUsage : c.gpuUtilization;
      values[0] = i < 2 ? 12 : 0.95;
      values[1] = 0;
      expect(shareOf(c, 0, 500)).toBe(0, signals[i]);
    }
  });

  it("fades stale reports, and prefers fresh half-busy hosts to a silent one", () => {
    const c = idle(3);
    c.running[0] = 0;
    c.running[1] = 4;
    c.running[2] = 5;
    c.freshness[0] = 0;
    c.freshness[1] = 1;
    c.freshness[2] = 1;
    expect(shareOf(c, 0, 300)).toBe(0);
  });

  it("spreads a shared prefix once many conversations went separate ways from it", () => {
    const c = idle(4);
    c.cachedTokens[1] = 2000;
    const few = request(2050, 5);
    few.sharedTokens = 2000;
    few.forks = 0;
    expect(choose(c, few)).toBe(1);
    let elsewhere = 0;
    for (let key = 1; key <= 100; key++) {
      const many = request(2050, mix(key, 3));
      many.sharedTokens = 2000;
      many.forks = 200;
      if (choose(c, many) != 1) elsewhere++;
    }
    expect(elsewhere).toBeGreaterThan(50);
  });

  it("charges for making others wait", () => {
    const c = idle(2);
    c.inFlight[0] = 20;
    expect(shareOf(c, 0, 20000)).toBe(0);
  });

  it("prefers a faster host in proportion", () => {
    const c = idle(2);
    c.prefillFactor[0] = 3;
    expect(shareOf(c, 0, 4000)).toBe(0);
  });

  it("chooses nobody when nobody is usable", () => {
    const c = idle(2);
    c.usable[0] = 0;
    c.usable[1] = 0;
    expect(choose(c, request(10, 1))).toBe(-1);
  });
});

describe("a crowd", () => {
  it("waits for places in a full batch, each as long as answers there take to make them free", () => {
    const c = idle(2);
    const r = request(200, 1);
    const o = new Overview();
    c.inFlight[0] = 256;
    o.take(c);
    price(c, o, r, new Weights());
    const full = c.waitMs[0];
    c.inFlight[0] = 512;
    o.take(c);
    price(c, o, r, new Weights());
    // 100 tokens, one step each, all of the batch: 8 + 256 × 0.25 ms.
    expect(Math.abs(c.waitMs[0] - full - 7200) < 50).toBe(true, c.waitMs[0].toString());
    expect(c.waitMs[1]).toBe(0);
  });

  it("shares what serving its conversation elsewhere costs", () => {
    const c = idle(2);
    const r = request(20000, 1);
    r.knownSlot = 0;
    r.isContinued = true;
    r.sharedTokens = 20000;
    c.cachedTokens[0] = 20000;
    c.inFlight[0] = 60;
    expect(choose(c, r)).toBe(0, "a conversation stays");
    r.crowd = 50;
    expect(choose(c, r)).toBe(1);
  });
});

describe("order", () => {
  it("gives the cheapest, best first, as many as asked for", () => {
    const c = idle(5);
    const costs: f64[] = [50, 10, 40, 20, 30];
    for (let slot = 0; slot < 5; slot++) c.costMs[slot] = costs[slot];
    const choice = new Choice();
    order(c, 3, choice);
    expect(choice.count).toBe(3);
    expect(choice.slots[0]).toBe(1);
    expect(choice.slots[1]).toBe(3);
    expect(choice.slots[2]).toBe(4);
    order(c, 99, choice);
    expect(choice.count).toBe(5);
  });

  it("puts hosts with room first", () => {
    const c = idle(3);
    c.costMs[0] = 1;
    c.costMs[1] = 2;
    c.costMs[2] = 3;
    c.room[0] = 0;
    const choice = new Choice();
    order(c, 3, choice);
    expect(choice.slots[0]).toBe(1);
    expect(choice.slots[2]).toBe(0);
  });
});
