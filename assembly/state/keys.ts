import { Text } from "../bytes";
import { LAYOUT_VERSION } from "./layout";

/**
 * Builds shared-data keys: `warmroute/<version of the layouts>/<namespace>/<kind><4-byte index>`. The namespace is the
 * plugin's root id, so filters with the same root id (in one VM id) share tables and others do not see them. Nor does another
 * version of the filter, which lives beside this one in the same Envoy while an old listener drains: were the values the same,
 * each would take the other's for absent and write over them. The key set is bounded by construction.
 */
export class Keys {
  private prefix: string;

  constructor(namespace: string) {
    this.prefix = `warmroute/${LAYOUT_VERSION}/${namespace}/`;
  }

  /** A key without an index. */
  single(kind: string): Text {
    return this.indexed(kind, 0);
  }

  /** A key whose last four bytes are `index`, so that it can be changed in place by `setKeyIndex`. */
  indexed(kind: string, index: i32): Text {
    const key = new Text(String.UTF8.encode(this.prefix + kind + "\0\0\0\0"));
    setKeyIndex(key, index);
    return key;
  }
}

/** Points an indexed key at another index, without allocating. */
export function setKeyIndex(key: Text, index: i32): void {
  store<i32>(key.ptr + key.len - 4, index);
}
