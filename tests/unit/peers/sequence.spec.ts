import { Sequence } from "../../../assembly/peers/sequence";

describe("Sequence", () => {
  it("takes each number once, in whatever order they come", () => {
    const s = new Sequence();
    const order = [5, 3, 4, 9, 6, 10, 8, 7];
    for (let i = 0; i < order.length; i++) expect(s.take(order[i])).toBe(true, `${order[i]}`);
    for (let i = 0; i < order.length; i++) expect(s.take(order[i])).toBe(false, `${order[i]}`);
    expect(s.highest).toBe(10);
  });

  it("refuses what is too old to tell, and goes on after a leap", () => {
    const s = new Sequence();
    expect(s.take(100)).toBe(true);
    expect(s.take(37)).toBe(true);
    expect(s.take(36)).toBe(false);
    expect(s.take(100000)).toBe(true);
    expect(s.take(100)).toBe(false);
    expect(s.take(99999)).toBe(true);
  });

  it("tells whether one of the last few is missing, not counting those before the first", () => {
    const s = new Sequence();
    expect(Sequence.isWhole(s.highest, s.seen, 1)).toBe(false);
    s.take(20);
    expect(Sequence.isWhole(s.highest, s.seen, 20)).toBe(true);
    expect(Sequence.isWhole(s.highest, s.seen, 21)).toBe(false);
    s.take(22);
    expect(Sequence.isWhole(s.highest, s.seen, 20)).toBe(true);
    expect(Sequence.isWhole(s.highest, s.seen, 22)).toBe(false);
    s.take(21);
    expect(Sequence.isWhole(s.highest, s.seen, 22)).toBe(true);
    // What is long past isn't waited for.
    for (let n = 24; n < 40; n++) s.take(n);
    expect(Sequence.isWhole(s.highest, s.seen, 30)).toBe(false);
    expect(Sequence.isWhole(s.highest, s.seen, 39)).toBe(true);
    s.take(500);
    expect(Sequence.isWhole(s.highest, s.seen, 30)).toBe(true);
  });

  it("goes on where numbers begin again after the last", () => {
    const s = new Sequence();
    expect(s.take(u32.MAX_VALUE)).toBe(true);
    expect(s.take(0)).toBe(true);
    expect(s.take(u32.MAX_VALUE)).toBe(false);
    expect(s.take(1)).toBe(true);
  });
});
