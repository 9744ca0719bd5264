import { Text } from "../bytes";
import {
  proxy_dequeue_shared_queue,
  proxy_enqueue_shared_queue,
  proxy_register_shared_queue,
  proxy_resolve_shared_queue,
} from "./imports";
import { clearCells, LEN_CELL, PTR_CELL, takeOut, VALUE_CELL } from "./memory";

/**
 * Registers a queue; only the VM that registered it last is woken (`onQueueReady`).
 * @returns its token, 0 when refused
 */
export function registerQueue(name: Text): u32 {
  store<u32>(VALUE_CELL, 0);
  let status = proxy_register_shared_queue(name.ptr, name.len, VALUE_CELL);
  return status == 0 ? load<u32>(VALUE_CELL) : 0;
}

/** Token of the queue that a VM with this id registered, 0 when there is none. */
export function resolveQueue(vmId: Text, name: Text): u32 {
  store<u32>(VALUE_CELL, 0);
  let status = proxy_resolve_shared_queue(vmId.ptr, vmId.len, name.ptr, name.len, VALUE_CELL);
  return status == 0 ? load<u32>(VALUE_CELL) : 0;
}

/** Puts a value at the end of a queue. */
export function enqueue(token: u32, ptr: usize, len: i32): bool {
  return proxy_enqueue_shared_queue(token, ptr, len) == 0;
}

/** Takes the first value out of a queue, into `outPtr`, `outLen`. False: it is empty. */
export function dequeue(token: u32): bool {
  clearCells();
  return takeOut(proxy_dequeue_shared_queue(token, PTR_CELL, LEN_CELL));
}
