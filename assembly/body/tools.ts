import { mix } from "../prefix/hash";
import { ValueDigest } from "./digest";
import { RootKey } from "./rootkeys";

/** What `tools` and `functions` hold. An empty list is as good as none. */
@final
export class Tools {
  private hashes: StaticArray<u64> = new StaticArray<u64>(2);
  private sizes: StaticArray<u32> = new StaticArray<u32>(2);

  reset(): void {
    this.clear(RootKey.Tools);
    this.clear(RootKey.Functions);
  }

  clear(key: RootKey): void {
    unchecked((this.hashes[key - RootKey.Tools] = 0));
    unchecked((this.sizes[key - RootKey.Tools] = 0));
  }

  /** Keeps what was read under `key`; `hash` is the digest's, or that of a part. */
  set(key: RootKey, digest: ValueDigest, hash: u64): void {
    if (digest.count == 0) return;
    unchecked((this.hashes[key - RootKey.Tools] = hash));
    unchecked((this.sizes[key - RootKey.Tools] = digest.bytes));
  }

  /** Hash of all, 0 for none. */
  get hash(): u64 {
    const tools = unchecked(this.hashes[0]);
    const functions = unchecked(this.hashes[1]);
    if (functions == 0) return tools;
    return tools == 0 ? functions : mix(tools, functions);
  }

  /** Bytes of the schemas, written compactly. */
  get bytes(): u32 {
    return unchecked(this.sizes[0]) + unchecked(this.sizes[1]);
  }
}
