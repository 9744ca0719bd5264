import { PageEntry } from "../peers/page";
import { PAGE_ENTRY } from "../peers/wire";
import { Entry } from "./entry";
import { HostDirectory } from "./hosts";
import { ENTRIES, entryAt } from "./locationbucket";
import { Locations } from "./locations";

/** Most buckets that one page looks at: it must not hold a worker up. */
const BUCKETS_PER_PAGE: u32 = 512;

/** The location table in pages, for a gateway that starts with an empty one. Set the table's clocks before. */
export class Pages {
  /** Entries in the page that was written last, and the bucket where the next begins; 0: that was the last. */
  count: i32 = 0;
  next: u32 = 0;

  constructor(
    private hosts: HostDirectory,
    private locations: Locations,
  ) {}

  /** Writes what is alive from bucket `cursor` on; entries name hosts by slot. @param most entries that there is room for */
  write(at: usize, most: i32, cursor: u32): void {
    const locations = this.locations;
    this.count = 0;
    this.next = 0;
    if (!locations.isUsed) return;
    const buckets = locations.buckets;
    const end = min(buckets, cursor + BUCKETS_PER_PAGE);
    let number = cursor;
    let to = at;
    while (number < end && this.count + ENTRIES <= most) {
      const bucket = locations.bucketAt(number);
      for (let e = 0; e < ENTRIES; e++) {
        const entry = entryAt(bucket, e);
        const tag = Entry.tag(entry);
        if (tag == 0 || !locations.isAlive(entry)) continue;
        const slot = Entry.slot(entry);
        PageEntry.write(to, tag, slot, Entry.forks(entry), locations.ageTicks(entry, slot));
        to += <usize>PAGE_ENTRY;
        this.count++;
      }
      number++;
    }
    this.next = number < buckets ? number : 0;
  }

  /** Takes over an entry of another gateway's page for a host known here. @param isCounted see `LocationTable.adopt` */
  adopt(entry: usize, slot: i32, isCounted: bool): void {
    if (!this.hosts.isKnown(slot)) return;
    const forks = PageEntry.forks(entry);
    this.locations.adopt(PageEntry.tag(entry), slot, PageEntry.ageTicks(entry), forks, isCounted);
  }
}
