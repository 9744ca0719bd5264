import { Limits, Load, Room, isIdle, roomAt } from "../../../assembly/admission/room";

const limits = new Limits();

function busy(): Load {
  const load = new Load();
  load.inFlight = 1;
  return load;
}

describe("roomAt", () => {
  it("gives an idle host room, whatever it reports of its cache", () => {
    const load = new Load();
    load.kvUsage = 1;
    load.isLearned = true;
    load.waitMs = 1e9;
    load.running = 0;
    load.waiting = 0;
    expect(isIdle(load)).toBe(true);
    expect(<i32>roomAt(load, limits)).toBe(Room.All);
  });

  it("is full by wait, waiting and cache, each alone", () => {
    const waits = busy();
    waits.isLearned = true;
    waits.waitMs = 10001;
    expect(<i32>roomAt(waits, limits)).toBe(Room.None);
    const queues = busy();
    queues.waiting = 64;
    expect(<i32>roomAt(queues, limits)).toBe(Room.None);
    const caches = busy();
    caches.kvUsage = 0.98;
    expect(<i32>roomAt(caches, limits)).toBe(Room.None);
  });

  it("takes nothing unknown for full", () => {
    const load = busy();
    expect(<i32>roomAt(load, limits)).toBe(Room.All);
    load.waitMs = 1e9;
    expect(<i32>roomAt(load, limits)).toBe(Room.All);
  });

  it("keeps a share for light prompts", () => {
    const load = busy();
    load.waiting = 31;
    expect(<i32>roomAt(load, limits)).toBe(Room.All);
    load.waiting = 32;
    expect(<i32>roomAt(load, limits)).toBe(Room.Light);
    load.waiting = 0;
    load.isLearned = true;
    load.waitMs = 5001;
    expect(<i32>roomAt(load, limits)).toBe(Room.Light);
    load.waitMs = 4999;
    expect(<i32>roomAt(load, limits)).toBe(Room.All);
  });
});
