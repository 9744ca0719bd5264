import { type Guest, ProcExit } from "./guest.ts";

const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NOT_SUPPORTED = 58;
const REALTIME = 0;
const MONOTONIC = 1;
/** When the machine started that tests run on, ns since 1970. */
const BOOT_NS = 1_000_000_000_000_000_000n;
const LEVEL_INFO = 2;
const LEVEL_ERROR = 4;

/** Seeds of xorshift32: the same "random" bytes in each run, others in each instance. */
const SEED = 0x2545f491;
const SEED_STEP = 0x9e3779b9;

/** The part of WASI that Envoy gives a filter. */
export function wasiImports(guest: Guest): Record<string, unknown> {
  let random = (SEED + Math.imul(SEED_STEP, guest.vm.host.instances++)) | 1;
  const none = (countCell: number, sizeCell: number) =>
    guest.writeU32(countCell, 0) || guest.writeU32(sizeCell, 0);
  return {
    fd_write(descriptor: number, vectors: number, count: number, writtenCell: number) {
      if (descriptor !== 1 && descriptor !== 2) return BAD_DESCRIPTOR;
      const view = guest.view();
      let text = "";
      for (let i = 0; i < count; i++) {
        const at = (vectors >>> 0) + 8 * i;
        text += guest.read(view.readUInt32LE(at), view.readUInt32LE(at + 4));
      }
      guest.vm.host.log(descriptor === 1 ? LEVEL_INFO : LEVEL_ERROR, text);
      return guest.writeU32(writtenCell, text.length);
    },
    clock_time_get(id: number, _precision: bigint, cell: number) {
      const { host } = guest.vm;
      if (id === REALTIME) return guest.writeU64(cell, host.wallNs());
      return id === MONOTONIC
        ? guest.writeU64(cell, BigInt.asUintN(64, host.clock.now() - BOOT_NS))
        : NOT_SUPPORTED;
    },
    random_get(ptr: number, size: number) {
      const view = guest.view();
      for (let i = 0; i < size >>> 0; i++) {
        random ^= random << 13;
        random ^= random >>> 17;
        random ^= random << 5;
        view[(ptr >>> 0) + i] = random;
      }
      return SUCCESS;
    },
    environ_sizes_get: none,
    environ_get: () => SUCCESS,
    args_sizes_get: none,
    args_get: () => SUCCESS,
    proc_exit(code: number) {
      throw new ProcExit(`proc_exit(${code})`);
    },
  };
}
