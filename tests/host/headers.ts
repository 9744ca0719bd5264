import { type Bytes, type Pairs, toBytes, toText } from "./abi.ts";

/** Headers in order; names are lower case, and may come more than once. */
export class HeaderMap {
  readonly names: Bytes[] = [];
  readonly values: Bytes[] = [];

  static from(pairs: Pairs): HeaderMap {
    const map = new HeaderMap();
    for (const [name, value] of pairs) map.add(toBytes(name), toBytes(value));
    return map;
  }

  get size(): number {
    return this.names.length;
  }

  /** First value, as bytes. */
  find(name: Bytes): Bytes | undefined {
    const i = this.names.indexOf(name);
    return i < 0 ? undefined : this.values[i];
  }

  /** First value, as text. */
  get(name: string): string | undefined {
    const value = this.find(name);
    return value === undefined ? undefined : toText(value);
  }

  /** All values of a name, as text. */
  all(name: string): string[] {
    return this.values.filter((_, i) => this.names[i] === name).map(toText);
  }

  add(name: Bytes, value: Bytes): void {
    this.names.push(name.toLowerCase());
    this.values.push(value);
  }

  /** Puts one value in place of all that are there. */
  set(name: Bytes, value: Bytes): void {
    const first = this.names.indexOf(name);
    if (first < 0) {
      this.add(name, value);
      return;
    }
    this.values[first] = value;
    this.removeFrom(name, first + 1);
  }

  remove(name: Bytes): void {
    this.removeFrom(name, 0);
  }

  private removeFrom(name: Bytes, start: number): void {
    let i = this.names.indexOf(name, start);
    while (i >= 0) {
      this.names.splice(i, 1);
      this.values.splice(i, 1);
      i = this.names.indexOf(name, i);
    }
  }

  clear(): void {
    this.names.length = 0;
    this.values.length = 0;
  }

  copy(): HeaderMap {
    const map = new HeaderMap();
    for (let i = 0; i < this.names.length; i++) {
      map.names.push(this.names[i] as Bytes);
      map.values.push(this.values[i] as Bytes);
    }
    return map;
  }

  /** All headers as text. */
  pairs(): [string, string][] {
    return this.names.map((name, i) => [toText(name), toText(this.values[i] as Bytes)]);
  }
}
