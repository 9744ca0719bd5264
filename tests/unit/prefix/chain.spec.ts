import { Chain, MAX_ENTRIES, Opening, staysFor } from "../../../assembly/prefix/chain";

const MEDIA: u32 = 1000;
const none = new Opening();

/** A conversation of messages of 10 bytes each; message i says `i` unless it is `odd`. */
function talk(chain: Chain, count: i32, odd: i32 = -1): void {
  chain.reset();
  for (let i = 0; i < count; i++) {
    const says: u64 = i == odd ? 999999 : <u64>i + 1;
    chain.endMessage(7, says, 1, <u32>(i + 1) * 10, 0, 0);
  }
  chain.seal(1, MEDIA, none);
}

function indexOf(chain: Chain, id: u64): i32 {
  for (let i = 0; i < chain.length; i++) if (chain.ids[i] == id) return i;
  return -1;
}

function isOrdered(chain: Chain): bool {
  for (let i = 1; i < chain.length; i++) if (chain.bytes[i] <= chain.bytes[i - 1]) return false;
  return true;
}

describe("Chain", () => {
  it("has one boundary for each message, in their order", () => {
    const chain = new Chain();
    talk(chain, 5);
    expect(chain.length).toBe(5);
    for (let i = 0; i < 5; i++) expect(chain.bytes[i]).toBe(<u32>(i + 1) * 10);
  });

  it("shares what comes before the first difference, and nothing behind it", () => {
    const a = new Chain();
    const b = new Chain();
    talk(a, 10);
    talk(b, 10, 6);
    for (let i = 0; i < 10; i++) expect(a.ids[i] == b.ids[i]).toBe(i < 6);
  });

  it("finds the last end of every turn again in the next", () => {
    const now = new Chain();
    const next = new Chain();
    for (let count = 1; count < 1500; count += 1 + count / 50) {
      talk(now, count);
      talk(next, count + 2);
      const found = indexOf(next, now.ids[now.length - 1]);
      expect(found).toBe(next.length - 3);
      expect(isOrdered(next)).toBe(true);
      expect(next.length <= MAX_ENTRIES).toBe(true);
    }
  });

  it("keeps early ends by their number alone", () => {
    const short = new Chain();
    const long = new Chain();
    talk(short, 400);
    talk(long, 4000);
    for (let i = 0; i < short.length; i++) {
      const number = short.bytes[i] / 10 - 1;
      if (number < 400 - 64) expect(indexOf(long, short.ids[i]) >= 0).toBe(staysFor(number));
    }
  });

  it("stays bounded", () => {
    const chain = new Chain();
    talk(chain, 300000);
    expect(chain.length <= MAX_ENTRIES).toBe(true);
    expect(chain.bytes[chain.length - 1]).toBe(3000000);
    expect(isOrdered(chain)).toBe(true);
  });

  it("is another under another seed, tools or system", () => {
    const chain = new Chain();
    talk(chain, 1);
    const seen = new Set<u64>();
    const opening = new Opening();
    for (let seed: u64 = 0; seed < 3; seed++) {
      for (let tools: u64 = 0; tools < 3; tools++) {
        for (let system: u64 = 0; system < 3; system++) {
          opening.tools = tools;
          opening.toolsBytes = tools != 0 ? 5 : 0;
          opening.system = system;
          opening.systemBytes = system != 0 ? 6 : 0;
          chain.seal(seed, MEDIA, opening);
          expect(chain.length).toBe(1 + (tools != 0 ? 1 : 0) + (system != 0 ? 1 : 0));
          expect(chain.bytes[chain.length - 1]).toBe(10 + opening.toolsBytes + opening.systemBytes);
          seen.add(chain.ids[chain.length - 1]);
        }
      }
    }
    expect(seen.size).toBe(27);
  });

  it("has no boundary before the first byte or image", () => {
    const chain = new Chain();
    chain.reset();
    chain.endMessage(1, 1, 1, 0, 0, 0);
    chain.endMessage(1, 1, 1, 0, 0, 2);
    chain.seal(1, MEDIA, none);
    expect(chain.length).toBe(1);
    expect(chain.fixedTokens[0]).toBe(2 * MEDIA);
  });

  it("ends where tools or system text were cut off", () => {
    const chain = new Chain();
    talk(chain, 3);
    const opening = new Opening();
    opening.isToolsCut = true;
    chain.seal(1, MEDIA, opening);
    expect(chain.length).toBe(0);
    opening.isToolsCut = false;
    opening.isSystemCut = true;
    chain.seal(1, MEDIA, opening);
    expect(chain.length).toBe(0);
  });
});
