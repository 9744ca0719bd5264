/** `1 server`, `8 servers`. */
export function many(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** Text as HTML and SVG take it, attributes included. */
export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
