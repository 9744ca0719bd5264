/**
 * The session inside a `metadata.user_id`: clients pack device, account and session into it, as
 * `user_…_account_…_session_<id>` or as JSON text with a `session_id`. Only the session names a
 * conversation.
 */
import { equalsText, text } from "../bytes";
import { JsonScanner, ScanState } from "../json/scanner";
import { JsonSink } from "../json/sink";
import { Hasher, hashBytes } from "../prefix/hash";

const USER = text("user_");
const ACCOUNT = text("_account_");
const SESSION = text("_session_");
const SESSION_ID = text("session_id");

/** Hash of the session in a user id, 0 where there is none. */
export function sessionInUserId(ptr: usize, len: i32): u64 {
  if (len > 0 && load<u8>(ptr) == 0x7b) return packed.read(ptr, len);
  if (!startsWith(ptr, len, USER.ptr, USER.len)) return 0;
  let account = false;
  for (let i = USER.len; i < len; i++) {
    if (load<u8>(ptr + i) != 0x5f) continue;
    if (!account) {
      account = startsWith(ptr + i, len - i, ACCOUNT.ptr, ACCOUNT.len);
      if (account) i += ACCOUNT.len - 1;
    } else if (startsWith(ptr + i, len - i, SESSION.ptr, SESSION.len)) {
      const from = i + SESSION.len;
      return from < len ? hashBytes(ptr + from, len - from) : 0;
    }
  }
  return 0;
}

function startsWith(ptr: usize, len: i32, start: usize, startLen: i32): bool {
  if (len < startLen) return false;
  for (let i = 0; i < startLen; i++) {
    if (load<u8>(ptr + i) != load<u8>(start + i)) return false;
  }
  return true;
}

/** Reads the JSON form: a string under `session_id` of the outermost object. */
@final
class PackedUserId extends JsonSink {
  private depth: i32 = 0;
  private isSession: bool = false;
  private isReading: bool = false;
  private hash: u64 = 0;
  private hasher: Hasher = new Hasher();
  private scanner: JsonScanner | null = null;

  read(ptr: usize, len: i32): u64 {
    let scanner = this.scanner;
    if (!scanner) {
      scanner = new JsonScanner(this);
      this.scanner = scanner;
    }
    this.depth = 0;
    this.hash = 0;
    this.isSession = false;
    this.isReading = false;
    scanner.reset();
    scanner.feed(ptr, len);
    return scanner.finish() == ScanState.Complete ? this.hash : 0;
  }

  onObjectStart(): void {
    this.replace();
    this.depth++;
  }
  onObjectEnd(): void {
    this.depth--;
  }
  onArrayStart(): void {
    this.replace();
    this.depth++;
  }
  onArrayEnd(): void {
    this.depth--;
  }
  onKey(ptr: usize, len: i32, cut: bool): void {
    this.isSession = this.depth == 1 && equalsText(ptr, len, SESSION_ID);
  }
  onStringStart(): void {
    this.isReading = this.depth == 1 && this.isSession;
    this.replace();
    this.hasher.reset(0);
  }
  onStringBytes(ptr: usize, len: i32): void {
    if (this.isReading) this.hasher.update(ptr, len);
  }
  onStringEnd(): void {
    if (this.isReading && !this.hasher.isEmpty) this.hash = this.hasher.digest();
    this.isReading = false;
  }
  onNumber(ptr: usize, len: i32): void {
    this.replace();
  }
  onTrue(): void {
    this.replace();
  }
  onFalse(): void {
    this.replace();
  }
  onNull(): void {
    this.replace();
  }

  /** A later value under the same key counts instead. */
  private replace(): void {
    if (this.depth == 1 && this.isSession) this.hash = 0;
  }
}

const packed = new PackedUserId();
