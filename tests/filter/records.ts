import { readFileSync } from "node:fs";
import type { Gateway } from "./gateway.ts";

/** What the workers share of one server: the fields of assembly/state/hostrecord.ts that tests look at. */
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
  prefillSamples: number;
  decodeSamples: number;
  learnedMs: number;
  capacityFactor: number;
  flushedClock: number;
}

const DIRECTORY_HEAD = 16;
const DIRECTORY_RECORD = 64;

/** Of any version of the layouts. */
const PREFIX = /^warmroute\/\d+\/warmroute\//;
const INDEX_BYTES = 4;

/** Whether a shared-data key is that of a server's record. */
export function isRecordKey(key: string): boolean {
  return /^host.{4}$/s.test(key.replace(PREFIX, ""));
}

function value(gateway: Gateway, kind: string, index = 0): Buffer | undefined {
  const number = Buffer.alloc(INDEX_BYTES);
  number.writeInt32LE(index);
  const key = `${kind}${number.toString("latin1")}`;
  const shared = gateway.host.shared("warmroute");
  const found = shared.keys().find((known) => known.replace(PREFIX, "") === key);
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

function recordBytes(gateway: Gateway, address: string): Buffer {
  const bytes = value(gateway, "host", slotOf(gateway, address));
  if (!bytes) throw new Error(`there is no record of ${address}`);
  return bytes;
}

/** What the bytes of a record say. */
export function readRecord(bytes: Buffer): HostRecord {
  const values = FIELDS.map(({ name, at, type }) => [name, type.read(bytes, at)]);
  return Object.fromEntries(values) as HostRecord;
}

/** Changes fields in the bytes of a record. */
export function writeRecord(bytes: Buffer, changes: Partial<HostRecord>): void {
  for (const { name, at, type } of FIELDS) {
    const changed = changes[name as keyof HostRecord];
    if (changed !== undefined) type.write(bytes, changed, at);
  }
}

/** The record of a server. */
export function recordOf(gateway: Gateway, address: string): HostRecord {
  return readRecord(recordBytes(gateway, address));
}

/** Changes fields of a server's record, as another worker would do. */
export function changeRecord(gateway: Gateway, address: string, changes: Partial<HostRecord>) {
  writeRecord(recordBytes(gateway, address), changes);
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

interface FieldType {
  size: number;
  read(bytes: Buffer, at: number): number;
  write(bytes: Buffer, value: number, at: number): void;
}

const BYTE: FieldType = {
  size: 1,
  read: (bytes, at) => bytes.readUInt8(at),
  write: (bytes, value, at) => bytes.writeUInt8(value, at),
};
const WORD: FieldType = {
  size: 4,
  read: (bytes, at) => bytes.readUInt32LE(at),
  write: (bytes, value, at) => bytes.writeUInt32LE(value, at),
};
const DOUBLE: FieldType = {
  size: 8,
  read: (bytes, at) => bytes.readDoubleLE(at),
  write: (bytes, value, at) => bytes.writeDoubleLE(value, at),
};
const TYPES = new Map(Object.entries({ u8: BYTE, bool: BYTE, i32: WORD, u32: WORD, f64: DOUBLE }));

/** The fields that a class of one record declares, and where in its bytes they are: each at a multiple of its size. */
function readFields(source: URL): { name: string; at: number; type: FieldType }[] {
  let end = 0;
  const declared = readFileSync(source, "utf8").matchAll(/^ {2}(?:private )?(\w+): (\w+);$/gm);
  return [...declared].map(([, name = "", typeName = ""]) => {
    const type = TYPES.get(typeName);
    if (!type)
      throw new Error(`${source.pathname}: ${name} has a type without a size: ${typeName}`);
    const at = Math.ceil(end / type.size) * type.size;
    end = at + type.size;
    return { name, at, type };
  });
}

const FIELDS = readFields(new URL("../../assembly/state/hostrecord.ts", import.meta.url));
