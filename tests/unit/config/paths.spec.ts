import { Text, text } from "../../../assembly/bytes";
import { Config } from "../../../assembly/config/config";
import { isInferencePath, isPathEntry, matchesPath } from "../../../assembly/config/paths";

function isEntry(entry: string): bool {
  const bytes = text(entry);
  return isPathEntry(bytes.ptr, bytes.len);
}

function matches(entry: string, path: string): bool {
  const bytes = text(path);
  return matchesPath(text(entry), bytes.ptr, bytes.len);
}

function isInference(paths: Array<Text>, target: string): bool {
  const bytes = text(target);
  return isInferencePath(paths, bytes.ptr, bytes.len);
}

describe("isPathEntry", () => {
  it("takes paths, beginnings, ends and everything", () => {
    const cases: string[] = ["/", "/v1/chat", "/v1/*", "/v1/chat*", "*/v1/chat", "*/", "*", "/*"];
    for (let i = 0; i < cases.length; i++) expect(isEntry(cases[i])).toBe(true, cases[i]);
  });

  it("refuses the rest", () => {
    const cases: string[] = [
      "",
      "v1",
      "v1*",
      "*v1",
      "**",
      "*/v1*",
      "/a*b",
      "/a?b",
      "/a#b",
      "/a b",
      "/a\n",
      "/ä",
      "*?",
      "/**",
    ];
    for (let i = 0; i < cases.length; i++) expect(isEntry(cases[i])).toBe(false, cases[i]);
  });
});

describe("matchesPath", () => {
  it("compares whole paths, case and all", () => {
    expect(matches("/v1/chat", "/v1/chat")).toBe(true);
    expect(matches("/v1/chat", "/v1/chat/")).toBe(false);
    expect(matches("/v1/chat", "/v1/chats")).toBe(false);
    expect(matches("/v1/chat", "/v1/cha")).toBe(false);
    expect(matches("/v1/chat", "/V1/chat")).toBe(false);
    expect(matches("/v1/chat", "")).toBe(false);
    expect(matches("", "")).toBe(false);
  });

  it("takes any continuation after a trailing star, and none", () => {
    expect(matches("/v1/*", "/v1/")).toBe(true);
    expect(matches("/v1/*", "/v1/a/b")).toBe(true);
    expect(matches("/v1/*", "/v1")).toBe(false);
    expect(matches("/v1/chat*", "/v1/chat")).toBe(true);
    expect(matches("/v1/chat*", "/v1/chats")).toBe(true);
  });

  it("takes any beginning before a leading star, and none", () => {
    expect(matches("*/v1/chat", "/v1/chat")).toBe(true);
    expect(matches("*/v1/chat", "/openai/v1/chat")).toBe(true);
    expect(matches("*/v1/chat", "/openai/v1/chat/x")).toBe(false);
    expect(matches("*/v1/chat", "v1/chat")).toBe(false);
    expect(matches("*", "/anything")).toBe(true);
    expect(matches("*", "")).toBe(true);
  });
});

describe("isInferencePath", () => {
  it("knows the usual paths, whatever the query", () => {
    const paths = new Config().routing.paths;
    expect(paths.length).toBe(17);
    for (let i = 0; i < paths.length; i++) {
      expect(isInferencePath(paths, paths[i].ptr, paths[i].len)).toBe(true);
    }
    expect(isInference(paths, "/v1/chat/completions?api-version=1&x=/y")).toBe(true);
    expect(isInference(paths, "/v1/messages?")).toBe(true);
    expect(isInference(paths, "/v1/models")).toBe(false);
    expect(isInference(paths, "/files/upload?to=/v1/chat/completions")).toBe(false);
    expect(isInference(paths, "/")).toBe(false);
    expect(isInference(paths, "")).toBe(false);
  });

  it("is never true without entries", () => {
    expect(isInference([], "/v1/chat/completions")).toBe(false);
  });
});
