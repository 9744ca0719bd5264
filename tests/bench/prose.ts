/** Words of ordinary English; the common ones come first, and come more often. */
const WORDS = (
  "the of and to a in is that for it as with on be by this are or from at which we can has have " +
  "you not was but they their there when what about more will would should could some time into " +
  "people other work first after where most also only over such make between because each while " +
  "server request answer model customer invoice shipment policy summary paragraph question " +
  "contract weather morning budget schedule meeting travel recipe garden history language result " +
  "example problem solution reason detail version account payment delivery support document"
).split(" ");

const CODE = [
  "```python",
  "def total(items, rate=0.2):",
  "    return sum(item['price'] * (1 + rate) for item in items)",
  "```",
].join("\n");

/** Places beyond ASCII as they are found in English text: one to three characters each. */
const BEYOND_ASCII = ["it’s", "café", "– that is –", "don’t", "“so”", "25 °C", "€40", "naïve"];

/** Characters between code blocks, between words beyond ASCII, and of a line, on average. */
const CODE_EVERY = 2000;
const BEYOND_ASCII_EVERY = 170;
const LINE_EVERY = 95;

/**
 * Chat as people write it, `length` characters or a few more: sentences, a line break about each
 * 90 characters, a code block per 2,000, a few characters beyond ASCII per 500.
 */
export function prose(rand: () => number, length: number): string {
  let text = "";
  let sentenceWords = 0;
  let nextLine = LINE_EVERY;
  // Somewhere in the first stretch, so that short texts have their share, too.
  let nextCode = rand() * CODE_EVERY;
  let nextBeyond = rand() * BEYOND_ASCII_EVERY;
  while (text.length < length) {
    let word = WORDS[Math.floor(rand() ** 2 * WORDS.length)] as string;
    if (text.length >= nextBeyond) {
      word = BEYOND_ASCII[Math.floor(rand() * BEYOND_ASCII.length)] as string;
      nextBeyond += BEYOND_ASCII_EVERY * (0.5 + rand());
    }
    text += sentenceWords === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : word;
    sentenceWords++;
    const ends = sentenceWords > 6 && rand() < 0.12;
    if (ends) {
      text += ".";
      sentenceWords = 0;
    } else if (rand() < 0.05) {
      text += ",";
    }
    if (ends && text.length >= nextCode) {
      text += `\n\n${CODE}\n\n`;
      nextCode += CODE_EVERY * (0.5 + rand());
      nextLine = text.length + LINE_EVERY;
    } else if (text.length >= nextLine) {
      text += "\n";
      nextLine = text.length + 85 + rand() * 25;
    } else {
      text += " ";
    }
  }
  return text;
}
