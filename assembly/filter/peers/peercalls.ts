import { Text, text } from "../../bytes";
import { Config } from "../../config/config";
import { HeaderList, httpCall } from "../../host/calls";
import { MemberList } from "../../state/members";
import { Members } from "./members";

const METHOD = text(":method");
const POST = text("POST");
const PATH = text(":path");
const AUTHORITY = text(":authority");
const CONTENT_TYPE = text("content-type");
const BYTES = text("application/octet-stream");

/** Calls other gateways' internal listeners, each by its address, through the one cluster that they are in. */
export class PeerCalls {
  readonly members: Members;
  private headers: HeaderList = new HeaderList(8, 2048);

  /** @param found members that discovery names, where the configuration names none */
  constructor(
    private config: Config,
    found: MemberList,
  ) {
    this.members = new Members(config.peers.hosts, found);
  }

  /** Sends a message to a member; returns the call's token, 0 where Envoy refused it. */
  call(member: i32, ptr: usize, length: i32): u32 {
    const config = this.config;
    const headers = this.headers;
    const address: Text = this.members.address(member);
    headers.reset();
    headers.addText(METHOD, POST);
    headers.addText(PATH, config.peers.path);
    headers.addText(AUTHORITY, address);
    headers.addText(config.routing.header, address);
    headers.addText(CONTENT_TYPE, BYTES);
    return httpCall(config.peers.cluster, headers, ptr, length, config.peers.timeoutMs);
  }
}
