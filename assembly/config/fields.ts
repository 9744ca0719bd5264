import { Shape } from "./shapes";

/** How a field's value is read and what it is stored as. */
export const enum Kind {
  /** true or false: bool. */
  Flag,
  /** A whole number: i32. */
  Integer,
  /** A whole number that may be null, stored as 0: i32. */
  Learned,
  /** A whole number that may be large: i64. */
  Size,
  /** Any number: f64. */
  Number,
  /** One of a few words, stored as its position: i32. */
  Word,
  /** Text of one shape. */
  Text,
  /** List of texts of one shape. */
  List,
  /** `metrics.names`. */
  Names,
}

/** One field: its wire name, type and range, and where it is stored. Its default is the class's. */
export class Field {
  constructor(
    public name: string,
    public kind: Kind,
    /** Byte offset in its section's object. */
    public offset: usize,
    /** Least value; least bytes of a text; least entries of a list. */
    public min: f64,
    /** Greatest value; most bytes of a text; most entries of a list. */
    public max: f64,
    public shape: Shape = Shape.None,
    /** Of a word: the choices, in the order of their values. */
    public words: string[] = [],
  ) {}
}

/** Fields of one object of the configuration. */
export class Section {
  readonly fields: Array<Field> = [];

  constructor(
    /** Wire name; empty for the top level. */
    public name: string,
    /** The object that the fields are stored in, kept alive by its Config. */
    public base: usize,
  ) {}

  flag(name: string, offset: usize): void {
    this.fields.push(new Field(name, Kind.Flag, offset, 0, 1));
  }

  integer(name: string, offset: usize, min: f64, max: f64): void {
    this.fields.push(new Field(name, Kind.Integer, offset, min, max));
  }

  learned(name: string, offset: usize, min: f64, max: f64): void {
    this.fields.push(new Field(name, Kind.Learned, offset, min, max));
  }

  size(name: string, offset: usize, min: f64, max: f64): void {
    this.fields.push(new Field(name, Kind.Size, offset, min, max));
  }

  number(name: string, offset: usize, min: f64, max: f64): void {
    this.fields.push(new Field(name, Kind.Number, offset, min, max));
  }

  word(name: string, offset: usize, words: string[]): void {
    this.fields.push(new Field(name, Kind.Word, offset, 0, 0, Shape.None, words));
  }

  /** A text of `minBytes`..`maxBytes`; 0 lets it be empty, whatever its shape. */
  text(name: string, offset: usize, shape: Shape, minBytes: f64, maxBytes: f64): void {
    this.fields.push(new Field(name, Kind.Text, offset, minBytes, maxBytes, shape));
  }

  list(name: string, offset: usize, shape: Shape, maxEntries: f64): void {
    this.fields.push(new Field(name, Kind.List, offset, 0, maxEntries, shape));
  }

  names(name: string, offset: usize, maxEntries: f64): void {
    this.fields.push(new Field(name, Kind.Names, offset, 0, maxEntries, Shape.Metric));
  }
}

/** Longest entry of a list, in bytes, by shape. */
export function maxEntryBytes(shape: Shape): i32 {
  if (shape == Shape.PathOrModel) return 256;
  return shape == Shape.PathEntry ? 1024 : shape == Shape.BodyField ? 192 : 128;
}
