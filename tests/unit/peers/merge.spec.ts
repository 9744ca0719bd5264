import { belief, missingShare, pendingMs } from "../../../assembly/peers/merge";

describe("pendingMs", () => {
  it("adds others' queues to own, and lets them shrink with time", () => {
    // Own queue of 100 ms, another's of 300 ms: the latest of the two was noted 50 ms ago.
    expect(pendingMs(100, 400, 950, 1000)).toBe(350);
    expect(pendingMs(100, 400, 0, 1000)).toBe(100);
  });

  it("is never less than what own queue says, and never below 0", () => {
    expect(pendingMs(80, 90, 940, 1000)).toBe(80);
    expect(pendingMs(0, 0, 0, 1000)).toBe(0);
  });

  it("takes a queue that was noted by a clock ahead of own as noted now", () => {
    expect(pendingMs(0, 250, 1010, 1000)).toBe(250);
  });
});

describe("missingShare", () => {
  it("is the share of members that aren't heard", () => {
    expect(missingShare(3, 3)).toBe(0);
    expect(missingShare(3, 2)).toBe(1.0 / 3);
    expect(missingShare(4, 2.5)).toBe(0.375);
    expect(missingShare(3, 0)).toBe(1);
    // One that restarted is heard under two names for a moment.
    expect(missingShare(3, 4)).toBe(0);
    expect(missingShare(0, 0)).toBe(1);
  });
});

describe("belief", () => {
  it("is whole while messages are young and in time, and fades to nothing with either", () => {
    expect(belief(0, 0)).toBe(1);
    expect(belief(600, 100)).toBe(1);
    expect(belief(800, 0)).toBe(0.5);
    expect(belief(250, 250)).toBe(0.5);
    expect(belief(1000, 0)).toBe(0);
    expect(belief(450, 400)).toBe(0);
    expect(belief(5000, 5000)).toBe(0);
  });
});
