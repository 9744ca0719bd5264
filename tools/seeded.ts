/** A seeded source of numbers in 0..1 (mulberry32). */
export function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Exponentially distributed with this mean. */
export function exponential(rand: () => number, mean: number): number {
  return -mean * Math.log(1 - rand());
}

/** Words that prompts are made of; common ones come more often. */
const WORDS = (
  "the of and to in is that for it as with on be by this are or from at which we can has have " +
  "server request answer model token cache prefix latency throughput queue batch memory prefill " +
  "decode attention kernel tensor gradient context window customer invoice shipment policy " +
  "summary paragraph function returns value error handler retry timeout connection proxy"
).split(" ");

/** Text of about `bytes` bytes: words, now and then a line, code or characters beyond ASCII. */
export function words(rand: () => number, bytes: number): string {
  let text = "";
  while (text.length < bytes) {
    const roll = rand();
    if (roll < 0.01) text += '\n```ts\nconst x = "a\\n";\n```\n';
    else if (roll < 0.03) text += "\n\n";
    else if (roll < 0.04) text += "Größe – “naïve” ✓ ";
    else text += `${WORDS[Math.floor(rand() ** 2 * WORDS.length)]} `;
  }
  return text;
}
