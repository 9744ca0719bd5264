import { Text } from "../bytes";
import { proxy_get_shared_data, proxy_set_shared_data, Status } from "./imports";
import { clearCells, LEN_CELL, PTR_CELL, takeCas, takeOut, VALUE_CELL } from "./memory";

/** How a read or write of shared data ended. */
export const enum SharedResult {
  Ok,
  NotFound,
  CasMismatch,
  Error,
}

/** Reads a value into `outPtr`, `outLen`, its version into `outCas`. */
export function getShared(key: Text): SharedResult {
  clearCells();
  store<u32>(VALUE_CELL, 0);
  let status = proxy_get_shared_data(key.ptr, key.len, PTR_CELL, LEN_CELL, VALUE_CELL);
  let taken = takeOut(status);
  takeCas(taken ? load<u32>(VALUE_CELL) : 0);
  if (taken) return SharedResult.Ok;
  return status == Status.NotFound ? SharedResult.NotFound : SharedResult.Error;
}

/**
 * Writes a value.
 * @param cas the version it must replace; 0 writes over whatever is there. A key that is not
 *   there is written whatever `cas` says.
 */
export function setShared(key: Text, ptr: usize, len: i32, cas: u32): SharedResult {
  let status = proxy_set_shared_data(key.ptr, key.len, ptr, len, cas);
  if (status == Status.Ok) return SharedResult.Ok;
  return status == Status.CasMismatch ? SharedResult.CasMismatch : SharedResult.Error;
}
