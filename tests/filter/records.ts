import type { Gateway } from "./gateway.ts";

/** What the workers share of one server: the parts of assembly/state/hostrecord.ts that tests look at. */
export interface HostRecord {
  sampleMs: number;
  running: number;
  waiting: number;
  kvUsage: number;
  gpuUtilization: number;
  capacityTokens: number;
  failures: number;
  ejections: number;
  ejectedUntilMs: number;
  prefillFactor: number;
  decodeFactor: number;
  capacityFactor: number;
  flushedClock: number;
}

const DIRECTORY_HEAD = 16;
const DIRECTORY_RECORD = 64;

const PREFIX = "warmroute/warmroute/";
const INDEX_BYTES = 4;

/** Whether a shared-data key is that of a server's record. */
export function isRecordKey(key: string): boolean {
  const kind = `${PREFIX}host`;
  return key.startsWith(kind) && key.length === kind.length + INDEX_BYTES;
}

function value(gateway: Gateway, kind: string, index = 0): Buffer | undefined {
  const number = Buffer.alloc(INDEX_BYTES);
  number.writeInt32LE(index);
  const key = `${PREFIX}${kind}${number.toString("latin1")}`;
  const shared = gateway.host.shared("warmroute");
  const found = shared.keys().find((known) => known === key);
  return found === undefined ? undefined : shared.get(found)?.value;
}

/** Number of a server's slot in the shared directory, −1 if it isn't known. */
export function slotOf(gateway: Gateway, address: string): number {
  const directory = value(gateway, "hosts");
  if (!directory) return -1;
  const count = directory.readInt32LE(4);
  for (let slot = 0; slot < count; slot++) {
    const at = DIRECTORY_HEAD + slot * DIRECTORY_RECORD;
    const length = directory.readUInt8(at);
    const isUsed = directory.readUInt8(at + 2) !== 0;
    if (isUsed && directory.toString("latin1", at + 16, at + 16 + length) === address) return slot;
  }
  return -1;
}

/** Shared bytes of a server's record; writing to them is what another worker would do. */
export function recordBytes(gateway: Gateway, address: string): Buffer {
  const bytes = value(gateway, "host", slotOf(gateway, address));
  if (!bytes) throw new Error(`there is no record of ${address}`);
  return bytes;
}

/** The record of a server. */
export function recordOf(gateway: Gateway, address: string): HostRecord {
  const bytes = recordBytes(gateway, address);
  return {
    sampleMs: bytes.readDoubleLE(8),
    running: bytes.readFloatLE(16),
    waiting: bytes.readFloatLE(20),
    kvUsage: bytes.readFloatLE(24),
    gpuUtilization: bytes.readFloatLE(28),
    capacityTokens: bytes.readFloatLE(32),
    failures: bytes.readUInt16LE(64),
    ejections: bytes.readUInt16LE(68),
    ejectedUntilMs: bytes.readDoubleLE(72),
    prefillFactor: bytes.readFloatLE(88),
    decodeFactor: bytes.readFloatLE(92),
    capacityFactor: bytes.readFloatLE(104),
    flushedClock: bytes.readDoubleLE(128),
  };
}

/** The servers that the workers know. */
export function knownHosts(gateway: Gateway, candidates: readonly string[]): string[] {
  return candidates.filter((address) => slotOf(gateway, address) >= 0);
}

/**
 * Lets others act at the moment between the last read of a shared value and its writing, as workers of one Envoy do that run
 * at the same time: before the first write of that kind that follows.
 */
export function betweenReadAndWrite(gateway: Gateway, kind: string, act: () => void): void {
  const shared = gateway.host.shared("warmroute");
  const set = shared.set.bind(shared);
  shared.set = (key, bytes, cas) => {
    if (!key.startsWith(`${PREFIX}${kind}`)) return set(key, bytes, cas);
    shared.set = set;
    const kept = Buffer.from(bytes);
    act();
    return set(key, kept, cas);
  };
}
