import { HostDirectory } from "../../state/hosts";
import { Keys } from "../../state/keys";
import { Locations } from "../../state/locations";
import { MemberList } from "../../state/members";
import { Outbox } from "../../state/outbox";
import { Pages } from "../../state/pages";
import { PeerTable } from "../../state/peers";

/** What workers share to tell and hear other gateways. */
export class PeerTables {
  /** What other gateways told. */
  readonly heard: PeerTable;
  /** What is told them. */
  readonly outbox: Outbox;
  /** Who they are, where discovery says so. */
  readonly members: MemberList;
  /** The location table, for one that asks for it. */
  readonly pages: Pages;

  constructor(keys: Keys, hosts: HostDirectory, locations: Locations) {
    this.heard = new PeerTable(keys, hosts);
    this.outbox = new Outbox(keys);
    this.members = new MemberList(keys);
    this.pages = new Pages(hosts, locations);
  }
}
