import { Outsiders } from "../../../assembly/discovery/outsiders";

/** Polls once a second; each poll sees `own` requests more of the filter's and `past` more that came past it. */
class Watch {
  nowMs: f64 = 1_000_000;
  handed: i64 = 5_000;
  own: i64 = 4_000;
  outsiders: Outsiders = new Outsiders();

  poll(own: i64, past: i64, hosts: i32 = 3): i64 {
    this.nowMs += 1000;
    this.own += own;
    this.handed += own + past;
    return this.outsiders.note(this.nowMs, this.handed, hosts, this.own);
  }
}

describe("requests past the filter", () => {
  it("are none where all are the filter's, whatever went before", () => {
    const watch = new Watch();
    let found: i64 = 0;
    for (let i = 0; i < 200; i++) found += watch.poll(50, 0);
    expect(found).toBe(0);
  });

  it("are told once each, after three polls that show them", () => {
    const watch = new Watch();
    watch.poll(0, 0);
    expect(watch.poll(10, 30)).toBe(0);
    expect(watch.poll(10, 30)).toBe(0);
    expect(watch.poll(10, 30)).toBe(90);
    expect(watch.outsiders.all).toBe(120);
    expect(watch.poll(10, 30)).toBe(30);
    expect(watch.poll(10, 0)).toBe(0);
  });

  it("need not be few beside the filter's own: what the counts may differ by is left out", () => {
    const watch = new Watch();
    let found: i64 = 0;
    for (let i = 0; i < 60; i++) found += watch.poll(100, 20);
    expect(found).toBe(0);
    const few = new Watch();
    for (let i = 0; i < 15; i++) found += few.poll(0, 1);
    expect(found).toBe(0);
  });

  it("show within a minute and a bit, however long all was well before", () => {
    const watch = new Watch();
    for (let i = 0; i < 3000; i++) watch.poll(100, 0);
    let polls = 0;
    while (watch.poll(100, 100) == 0 && polls < 1000) polls++;
    expect(polls < 90).toBe(true);
  });

  it("aren't seen in a burst that workers haven't told yet, nor in a member that comes or goes", () => {
    const watch = new Watch();
    watch.poll(5, 0);
    expect(watch.poll(0, 500)).toBe(0);
    watch.own += 500;
    let found: i64 = 0;
    for (let i = 0; i < 100; i++) found += watch.poll(5, 0);
    watch.handed += 700;
    found += watch.poll(5, 0, 4);
    for (let i = 0; i < 100; i++) found += watch.poll(5, 0, 4);
    watch.handed = 100;
    for (let i = 0; i < 100; i++) found += watch.poll(5, 0, 4);
    expect(found).toBe(0);
  });

  it("are looked for with rare polls, too", () => {
    const watch = new Watch();
    let found: i64 = 0;
    for (let i = 0; i < 8; i++) {
      watch.nowMs += 3_600_000;
      found += watch.poll(100, 100);
    }
    expect(found).toBe(700);
  });
});
