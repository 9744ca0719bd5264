/** `1 server`, `8 servers`. */
export function many(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
