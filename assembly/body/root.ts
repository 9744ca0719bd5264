/** What the scanner tells of a request body, handed to whoever takes the present value. */
import { parseNumber } from "../number";
import { Into } from "./nodes";
import { RootFields, Taker } from "./rootfields";
import { isNumber, rootKey, RootKey } from "./rootkeys";

@final
export class RootReader extends RootFields {
  constructor() {
    super();
    this.takesWholeText = true;
  }

  onObjectStart(): void {
    if (this.skipped > 0) this.skipped++;
    else if (this.taker == Taker.Content) this.content.openObject();
    else if (this.taker == Taker.Digest) this.digest.open(true);
    else this.openObject();
  }

  onObjectEnd(): void {
    if (this.skipped > 0) this.skipped--;
    else if (this.taker == Taker.Content) {
      this.content.closeObject();
      this.settleContent();
    } else if (this.taker == Taker.Digest) this.closeDigest();
    else this.depth--;
  }

  onArrayStart(): void {
    if (this.skipped > 0) this.skipped++;
    else if (this.taker == Taker.Content) this.content.openArray();
    else if (this.taker == Taker.Digest) this.digest.open(false);
    else this.openArray();
  }

  onArrayEnd(): void {
    if (this.skipped > 0) this.skipped--;
    else if (this.taker == Taker.Content) {
      this.content.closeArray();
      this.settleContent();
    } else if (this.taker == Taker.Digest) this.closeDigest();
  }

  onKey(ptr: usize, len: i32, cut: bool): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.key(ptr, len, cut, this.isPlain);
    else if (this.taker == Taker.Digest) this.digest.key(ptr, len, this.isPlain);
    else {
      const outer = unchecked(this.outerFields[this.depth]);
      this.key = cut ? RootKey.Unknown : rootKey(ptr, len, unchecked(this.outerKeys[this.depth]));
      this.field = cut || !outer ? null : outer.child(ptr, len);
    }
  }

  /** Whether the scanner gives text that needs no escapes. */
  private get isPlain(): bool {
    const scanner = this.scanner;
    return scanner != null && scanner.isPlain;
  }

  onText(ptr: usize, len: i32): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Digest) this.digest.plainText(ptr, len);
    else if (this.taker == Taker.Content) {
      this.content.wholeText(ptr, len);
      this.settleContent();
    } else if (this.beginText()) {
      if (this.taker == Taker.Content) {
        this.content.text(ptr, len, 0, true);
        this.content.endText();
        this.settleContent();
      } else {
        this.text.add(ptr, len);
        this.endText();
      }
    }
  }

  onStringStart(): void {
    let wanted = false;
    if (this.skipped == 0) {
      if (this.taker == Taker.Content) {
        this.content.beginText();
        wanted = this.content.into != Into.Nowhere;
      } else if (this.taker == Taker.Digest) {
        this.digest.beginText();
        wanted = true;
      } else wanted = this.beginText();
    }
    const scanner = this.scanner;
    if (scanner) scanner.skipStrings = !wanted;
  }

  onStringBytes(ptr: usize, len: i32): void {
    const scanner = this.scanner;
    const tails = scanner ? scanner.spanTails : 0;
    if (this.taker == Taker.Content) this.content.text(ptr, len, tails, this.isPlain);
    else if (this.taker == Taker.Digest) this.digest.text(ptr, len, tails, this.isPlain);
    else if (this.isReading) this.text.add(ptr, len);
  }

  onStringEnd(): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) {
      this.content.endText();
      this.settleContent();
    } else if (this.taker == Taker.Digest) this.digest.endText();
    else if (this.isReading) this.endText();
  }

  onNumber(ptr: usize, len: i32): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.number(ptr, len);
    else if (this.taker == Taker.Digest) this.digest.number(ptr, len);
    else if (this.depth > 0) {
      this.beginField();
      if (isNumber(this.key)) this.settings.setNumber(this.key, parseNumber(ptr, len));
    }
  }

  onTrue(): void {
    this.onBool(true);
  }

  onFalse(): void {
    this.onBool(false);
  }

  private onBool(value: bool): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.bool(value);
    else if (this.taker == Taker.Digest) this.digest.bool(value);
    else if (this.depth > 0) {
      this.beginField();
      if (this.key == RootKey.Stream) this.settings.stream = value;
    }
  }

  onNull(): void {
    if (this.skipped > 0) return;
    if (this.taker == Taker.Content) this.content.nil();
    else if (this.taker == Taker.Digest) this.digest.nil();
    else if (this.depth > 0) this.beginField();
  }
}
