import { addTally, emptyTally, type Tally, textTally } from "./tally.ts";

const NONCE = "x-anthropic-billing-header:";

export type Piece =
  | { kind: "bytes"; bytes: Buffer; isId: boolean }
  | { kind: "mark"; form: string; tally: Tally };

/** A boundary inside a lane, counted from its start. */
export interface Position {
  bytes: number;
  ids: number;
  media: number;
  before: string;
}

/** A run of prompt text, kept whole. */
export class Lane {
  pieces: Piece[] = [];
  tally: Tally = emptyTally();
  isUsed = false;
  isWatching = false;
  nonce = "";

  text(text: string): void {
    let rest = text;
    if (this.isWatching && text !== "") {
      this.isWatching = false;
      if (text.startsWith(NONCE)) {
        const end = text.indexOf("\n");
        this.nonce = end < 0 ? text : text.slice(0, end + 1);
        rest = text.slice(this.nonce.length);
      }
    }
    if (rest === "") return;
    this.isUsed = true;
    this.pieces.push({ kind: "bytes", bytes: Buffer.from(rest), isId: false });
    addTally(this.tally, textTally(rest));
  }

  id(bytes: Buffer): void {
    this.isUsed = true;
    this.pieces.push({ kind: "bytes", bytes, isId: true });
    this.tally.ids++;
  }

  mark(form: string, tally: Tally = emptyTally()): void {
    this.isUsed = true;
    this.isWatching = false;
    this.pieces.push({ kind: "mark", form, tally });
    addTally(this.tally, tally);
  }

  beginPart(): void {
    if (this.isUsed) this.mark("part");
  }

  /** Everything in it, in a form that differs where the content does. */
  get form(): string {
    return formOf(this.pieces);
  }

  /** Its boundaries, where it begins `base` bytes behind the start. */
  positions(base: number): Position[] {
    const found: Position[] = [];
    const done: Piece[] = [];
    let bytes = 0;
    let ids = 0;
    let media = 0;
    let next = nextPosition(base);
    const here = () => base + bytes + 4 * ids;
    const note = () => {
      found.push({ bytes, ids, media, before: formOf(done) });
      next = nextPosition(here());
    };
    for (const piece of this.pieces) {
      if (piece.kind === "mark") {
        done.push(piece);
        bytes += piece.tally.bytes;
        media += piece.tally.images + piece.tally.audios;
      } else if (piece.isId) {
        done.push(piece);
        ids++;
        if (here() >= next) note();
      } else {
        if (here() >= next) next = nextPosition(here());
        let left = piece.bytes;
        while (left.length >= next - here()) {
          const head = left.subarray(0, next - here());
          left = left.subarray(head.length);
          done.push({ ...piece, bytes: head });
          bytes += head.length;
          note();
        }
        done.push({ ...piece, bytes: left });
        bytes += left.length;
      }
    }
    return found;
  }
}

function formOf(pieces: Piece[]): string {
  const parts: string[] = [""];
  for (const piece of pieces) {
    if (piece.kind === "mark") parts.push(piece.form, "");
    else parts[parts.length - 1] += piece.bytes.toString("latin1");
  }
  return JSON.stringify(parts);
}

/** The growing positions: the first behind `at`. */
function nextPosition(at: number): number {
  for (const first of [16, 64, 256]) if (first > at) return first;
  let position = 1024;
  while (position <= at) position = Math.floor((position + Math.floor(position / 8)) / 64) * 64;
  return position;
}
