/** What is counted of a prompt, in the reference. */
export interface Tally {
  codePoints: number;
  bytes: number;
  ids: number;
  images: number;
  audios: number;
}

export function emptyTally(): Tally {
  return { codePoints: 0, bytes: 0, ids: 0, images: 0, audios: 0 };
}

export function textTally(text: string): Tally {
  return { ...emptyTally(), codePoints: [...text].length, bytes: Buffer.byteLength(text) };
}

export function addTally(to: Tally, more: Tally): void {
  to.codePoints += more.codePoints;
  to.bytes += more.bytes;
  to.ids += more.ids;
  to.images += more.images;
  to.audios += more.audios;
}
