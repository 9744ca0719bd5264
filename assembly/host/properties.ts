import { Text, text } from "../bytes";
import { proxy_get_property, proxy_set_property } from "./imports";
import { clearCells, LEN_CELL, PTR_CELL, takeOut } from "./memory";

/** Joins the segments of a property's path: `path("upstream", "address")`. Once, not per request. */
export function path(first: string, second: string = "", third: string = ""): Text {
  let joined = first;
  if (second.length) joined += "\0" + second;
  if (third.length) joined += "\0" + third;
  return text(joined);
}

/** Reads a property into `outPtr`, `outLen`. False: not known now. */
export function getProperty(path: Text): bool {
  clearCells();
  return takeOut(proxy_get_property(path.ptr, path.len, PTR_CELL, LEN_CELL));
}

/** Sets a property of the stream; access logs show it as `FILTER_STATE(wasm.<path>:PLAIN)`. */
export function setProperty(path: Text, ptr: usize, len: i32): bool {
  return proxy_set_property(path.ptr, path.len, ptr, len) == 0;
}
