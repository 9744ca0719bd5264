import { mix } from "../../prefix/hash";
import { HostDirectory } from "../../state/hosts";
import { Locations } from "../../state/locations";
import { Responses } from "../../state/responses";

/** Salt that keeps answers apart from other tags in the location table. */
const ANSWER_SALT: u64 = 0x5e55_1055_a115_0004;

/**
 * Which server has stored an answer: this gateway's own are in a table of their own, by count; what other gateways tell of theirs
 * is in the location table, and is forgotten there as conversations are. A tenant finds its own only.
 */
export class StoredAnswers {
  /** Key of the conversation of the answer found last, 0 unknown. */
  conversation: u64 = 0;

  constructor(
    private hosts: HostDirectory,
    private responses: Responses,
    private locations: Locations,
  ) {}

  /**
   * Notes an answer of this gateway's.
   * @returns its tag, for other gateways
   */
  note(tenantHash: u64, idHash: u64, conversation: u64, slot: i32): u64 {
    const tag = mix(tenantHash, idHash);
    this.responses.note(tag, conversation, this.hosts.hash(slot));
    return mix(tag, ANSWER_SALT);
  }

  /** Slot of the server that has stored an answer, −1 unknown or gone; `conversation` tells of it. */
  find(tenantHash: u64, idHash: u64): i32 {
    const responses = this.responses;
    const tag = mix(tenantHash, idHash);
    this.conversation = 0;
    if (!responses.find(tag)) return this.locations.find(mix(tag, ANSWER_SALT));
    this.conversation = responses.conversation;
    return this.hosts.findHash(responses.server);
  }
}
