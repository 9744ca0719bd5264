/**
 * The text below `## [VERSION]` of a changelog in the form of Keep a Changelog.
 * @throws where the section is missing or empty
 */
export function sectionOf(changelog: string, version: string): string {
  const lines = changelog.split("\n");
  const begin = lines.findIndex((line) => line.startsWith(`## [${version}]`));
  if (begin < 0) throw new Error(`CHANGELOG.md has no section ## [${version}]`);
  const length = lines.slice(begin + 1).findIndex((line) => /^(## |\[.+\]: )/.test(line));
  const end = length < 0 ? lines.length : begin + 1 + length;
  const text = lines
    .slice(begin + 1, end)
    .join("\n")
    .trim();
  if (text === "") throw new Error(`CHANGELOG.md: the section ## [${version}] is empty`);
  return `${text}\n`;
}
