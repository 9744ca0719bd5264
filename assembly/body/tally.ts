/** What has been counted of a prompt, or of a piece of one. */
@final
export class Tally {
  /** Unicode code points of text. */
  codePoints: u32 = 0;
  /** Its bytes in UTF-8. */
  bytes: u32 = 0;
  tokenIds: u32 = 0;
  images: u32 = 0;
  audios: u32 = 0;

  clear(): void {
    this.codePoints = 0;
    this.bytes = 0;
    this.tokenIds = 0;
    this.images = 0;
    this.audios = 0;
  }

  copyFrom(from: Tally): void {
    this.codePoints = from.codePoints;
    this.bytes = from.bytes;
    this.tokenIds = from.tokenIds;
    this.images = from.images;
    this.audios = from.audios;
  }

  add(other: Tally): void {
    this.codePoints += other.codePoints;
    this.bytes += other.bytes;
    this.tokenIds += other.tokenIds;
    this.images += other.images;
    this.audios += other.audios;
  }

  /** Images and sounds. */
  get media(): u32 {
    return this.images + this.audios;
  }

  /** Whether anything was counted that a server computes. */
  get isEmpty(): bool {
    return (this.bytes | this.tokenIds | this.images | this.audios) == 0;
  }
}
