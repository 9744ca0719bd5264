import { RequestReader } from "../../body/request";
import { UsageReader } from "../../body/usage";
import { Core } from "../core";
import { Stream } from "../stream";

/** Bodies that can be read, and answers that can be, at once in one VM; further ones pass unread. */
const READERS_MAX: i32 = 4096;
const USAGES_MAX: i32 = 16384;

/** Records that are used again, so that requests allocate nothing once as many were open at once before. */
export class Pool {
  private streams: Array<Stream> = new Array<Stream>();
  private readers: Array<RequestReader> = new Array<RequestReader>();
  private usages: Array<UsageReader> = new Array<UsageReader>();
  private readersMade: i32 = 0;
  private usagesMade: i32 = 0;

  constructor(private core: Core) {}

  /** A stream that was used before, null where there is none. */
  takeStream(): Stream | null {
    return this.streams.length > 0 ? this.streams.pop() : null;
  }

  giveStream(stream: Stream): void {
    this.streams.push(stream);
  }

  /** A reader that has begun; null when READERS_MAX are in use. */
  takeReader(): RequestReader | null {
    let reader: RequestReader;
    if (this.readers.length > 0) {
      reader = this.readers.pop();
    } else {
      if (this.readersMade >= READERS_MAX) return null;
      this.readersMade++;
      reader = new RequestReader();
    }
    reader.begin(this.core.bodyFields);
    return reader;
  }

  giveReader(reader: RequestReader): void {
    this.readers.push(reader);
  }

  /** Null when USAGES_MAX are in use. */
  takeUsage(): UsageReader | null {
    if (this.usages.length > 0) return this.usages.pop();
    if (this.usagesMade >= USAGES_MAX) return null;
    this.usagesMade++;
    return new UsageReader();
  }

  giveUsage(usage: UsageReader): void {
    this.usages.push(usage);
  }
}
