/**
 * What the scanner tells while it reads. Strings come decoded (UTF-8; lone surrogates and invalid
 * UTF-8 as U+FFFD) in any number of spans, each of whole characters. Addresses are valid during the
 * call only. Every method does nothing unless overridden.
 */
export abstract class JsonSink {
  /** Whether strings that are short, ASCII, without escapes and in one chunk may come by `onText`. */
  takesWholeText: bool = false;

  /** `{` */
  onObjectStart(): void {}
  /** `}` */
  onObjectEnd(): void {}
  /** `[` */
  onArrayStart(): void {}
  /** `]` */
  onArrayEnd(): void {}
  /** A whole key, decoded. A key over 256 bytes comes cut: such a key equals no known name. */
  onKey(ptr: usize, len: i32, cut: bool): void {}
  /** A string value begins. */
  onStringStart(): void {}
  /** A decoded piece of it, 1 byte or more. */
  onStringBytes(ptr: usize, len: i32): void {}
  /** It ends. */
  onStringEnd(): void {}
  /** A whole string, in place of the three calls before, even where strings are skipped. */
  onText(ptr: usize, len: i32): void {}
  /** A number as spelled, in JSON's grammar; cut after 64 bytes. */
  onNumber(ptr: usize, len: i32): void {}
  onTrue(): void {}
  onFalse(): void {}
  onNull(): void {}
}

/** A sink that takes objects and arrays alike, but for what they are called. */
export abstract class LevelSink extends JsonSink {
  /** `{` or `[` */
  protected abstract open(isObject: bool): void;
  /** `}` or `]` */
  protected abstract close(): void;

  onObjectStart(): void {
    this.open(true);
  }
  onObjectEnd(): void {
    this.close();
  }
  onArrayStart(): void {
    this.open(false);
  }
  onArrayEnd(): void {
    this.close();
  }
}
