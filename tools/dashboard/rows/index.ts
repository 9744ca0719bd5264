import { BUSY } from "./busy.ts";
import { DECISIONS } from "./decisions.ts";
import { FILTER } from "./filter.ts";
import { GLANCE } from "./glance.ts";
import { SERVERS } from "./servers.ts";
import { USERS } from "./users.ts";

/** The dashboard from top to bottom. */
export const ROWS = [GLANCE, USERS, DECISIONS, SERVERS, BUSY, FILTER];
