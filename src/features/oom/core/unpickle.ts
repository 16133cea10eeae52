import { ExpectedError } from '../../../core/errors';
import { fileStart } from '../../../core/languages/json/document';
import { formatCount } from '../../../core/format';
import { sentence, type Sentence } from '../../../core/sentence';

/*
 * Reads data out of a Python pickle (protocols 2 to 5) without running any of it: only the opcodes that dicts, lists, tuples, texts and
 * numbers need. What would import, call, build or persist an object is refused, so nothing of a file is ever executed.
 */

/** Values of one pickle, at most; a list of as many takes some 200 MB. */
const mostValues = 8_000_000;
/** Containers within each other, at most; a snapshot has six levels. */
const mostDepth = 64;
/** Keys of one dict, at most: those of a snapshot have a few names, and looking one up goes through them. */
const mostKeys = 256;

/** What a pickle holds. A tuple is a list; dicts have keys and values in turn. */
export type Pickled = string | number | boolean | null | PickledList | PickledDict;

/** A list or tuple. Closed once it is in another container: then nothing changes it, so no value holds itself. */
interface PickledList {
  readonly kind: 'list';
  readonly items: Pickled[];
  depth: number;
  isClosed: boolean;
}

/** A dict, its keys and values in turn. */
export interface PickledDict {
  readonly kind: 'dict';
  readonly items: Pickled[];
  depth: number;
  isClosed: boolean;
}

type Container = PickledList | PickledDict;

const refusedOpcodes: ReadonlyMap<number, string> = new Map([
  [0x63, 'GLOBAL'],
  [0x93, 'STACK_GLOBAL'],
  [0x52, 'REDUCE'],
  [0x62, 'BUILD'],
  [0x69, 'INST'],
  [0x6f, 'OBJ'],
  [0x81, 'NEWOBJ'],
  [0x92, 'NEWOBJ_EX'],
  [0x50, 'PERSID'],
  [0x51, 'BINPERSID'],
  [0x82, 'EXT1'],
  [0x83, 'EXT2'],
  [0x84, 'EXT4'],
  [0x97, 'NEXT_BUFFER'],
]);

/**
 * The value of a pickle.
 * @param file its name, for errors.
 * @throws ExpectedError `snapshot-unsafe` where it would run code, holds itself or is nested too deeply, `snapshot-too-large`,
 * `snapshot-syntax`; each names the byte.
 */
export function unpickle(bytes: Uint8Array, file: string): Pickled {
  return new Unpickler(bytes, file).read();
}

const mark = Symbol('mark');
const utf8 = new TextDecoder('utf-8');

class Unpickler {
  private at = 0;
  private values = 0;
  private marks = 0;
  private readonly stack: (Pickled | typeof mark)[] = [];
  private readonly memo: Pickled[] = [];
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    private readonly file: string,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  read(): Pickled {
    for (;;) {
      const place = this.at;
      const opcode = this.take(1, (at) => this.bytes[at] ?? 0);
      if (opcode === 0x2e) return this.result(place);
      const refused = refusedOpcodes.get(opcode);
      if (refused !== undefined) throw this.unsafe(place, sentence`it would make a Python object (${refused})`);
      const isKnown = this.constant(opcode) || this.text(opcode) || this.container(opcode, place) || this.memory(opcode, place);
      if (!isKnown) throw this.syntax(place, sentence`opcode ${opcode} is none that a snapshot needs`);
      if (Math.max(this.values, this.memo.length) > mostValues) throw this.tooLarge(place);
    }
  }

  private result(place: number): Pickled {
    const value = this.stack.pop();
    if (value === undefined || value === mark || this.stack.length > 0) throw this.syntax(place, sentence`it ends with no single value`);
    return value;
  }

  private constant(opcode: number): boolean {
    switch (opcode) {
      case 0x80: // PROTO
        this.take(1, () => 0);
        return true;
      case 0x95: // FRAME
        this.take(8, () => 0);
        return true;
      case 0x4e:
        return this.push(null);
      case 0x88:
        return this.push(true);
      case 0x89:
        return this.push(false);
      case 0x4b: // BININT1
        return this.push(this.take(1, (at) => this.view.getUint8(at)));
      case 0x4d: // BININT2
        return this.push(this.take(2, (at) => this.view.getUint16(at, true)));
      case 0x4a: // BININT
        return this.push(this.take(4, (at) => this.view.getInt32(at, true)));
      case 0x47: // BINFLOAT
        return this.push(this.take(8, (at) => this.view.getFloat64(at)));
      case 0x8a: // LONG1
        return this.push(this.long());
      default:
        return false;
    }
  }

  /** A whole number of up to 8 bytes, little-endian and signed. */
  private long(): number {
    const place = this.at;
    const size = this.take(1, (at) => this.view.getUint8(at));
    if (size > 9) throw this.syntax(place, sentence`a number has ${size} bytes`);
    return this.take(size, (at) => {
      let value = 0n;
      for (let index = size - 1; index >= 0; index--) value = (value << 8n) | BigInt(this.bytes[at + index] ?? 0);
      return Number(BigInt.asIntN(8 * size, value));
    });
  }

  private text(opcode: number): boolean {
    const size = this.textSize(opcode);
    return size !== null && this.push(this.take(size, (at) => utf8.decode(this.bytes.subarray(at, at + size))));
  }

  private textSize(opcode: number): number | null {
    switch (opcode) {
      case 0x8c: // SHORT_BINUNICODE
      case 0x43: // SHORT_BINBYTES
        return this.take(1, (at) => this.view.getUint8(at));
      case 0x58: // BINUNICODE
        return this.take(4, (at) => this.view.getUint32(at, true));
      case 0x8d: // BINUNICODE8
        return this.take(8, (at) => Number(this.view.getBigUint64(at, true)));
      default:
        return null;
    }
  }

  private container(opcode: number, place: number): boolean {
    switch (opcode) {
      case 0x28:
        if (++this.marks > mostDepth) throw this.tooDeep(place);
        this.stack.push(mark);
        return true;
      case 0x5d:
        return this.push({ kind: 'list', items: [], depth: 1, isClosed: false });
      case 0x7d:
        return this.push({ kind: 'dict', items: [], depth: 1, isClosed: false });
      case 0x29:
        return this.push({ kind: 'list', items: [], depth: 1, isClosed: false });
      case 0x85:
      case 0x86:
      case 0x87:
        return this.list(this.topItems(opcode - 0x84, place), place);
      case 0x74: // TUPLE
      case 0x6c: // LIST
        return this.list(this.marked(place), place);
      case 0x61: // APPEND
        return this.fill('list', this.topItems(1, place), place);
      case 0x65: // APPENDS
        return this.fill('list', this.marked(place), place);
      case 0x73: // SETITEM
        return this.fill('dict', this.topItems(2, place), place);
      case 0x75: // SETITEMS
        return this.fill('dict', this.marked(place), place);
      default:
        return false;
    }
  }

  private list(items: Pickled[], place: number): boolean {
    const list: PickledList = { kind: 'list', items: [], depth: 1, isClosed: false };
    this.add(list, items, place);
    return this.push(list);
  }

  private fill(kind: Container['kind'], items: readonly Pickled[], place: number): boolean {
    const target = this.stack.at(-1);
    if (target === undefined || typeof target !== 'object' || target?.kind !== kind)
      throw this.syntax(place, sentence`items have no container`);
    if (target.isClosed) throw this.unsafe(place, sentence`it changes a container that is in another one`);
    if (kind === 'dict') {
      if (items.length % 2 !== 0) throw this.syntax(place, sentence`a key has no value`);
      if (target.items.length + items.length > 2 * mostKeys)
        throw this.syntax(place, sentence`a dict has more than ${formatCount(mostKeys)} keys`);
    }
    this.add(target, items, place);
    return true;
  }

  private add(target: Container, items: readonly Pickled[], place: number): void {
    for (const item of items) {
      if (typeof item === 'object' && item !== null) {
        item.isClosed = true;
        target.depth = Math.max(target.depth, item.depth + 1);
      }
      target.items.push(item);
    }
    if (target.depth > mostDepth) throw this.tooDeep(place);
  }

  private memory(opcode: number, place: number): boolean {
    switch (opcode) {
      case 0x94: // MEMOIZE
        this.memo.push(this.top(place));
        return true;
      case 0x71: // BINPUT
        return this.put(
          this.take(1, (at) => this.view.getUint8(at)),
          place,
        );
      case 0x72: // LONG_BINPUT
        return this.put(
          this.take(4, (at) => this.view.getUint32(at, true)),
          place,
        );
      case 0x68: // BINGET
        return this.get(
          this.take(1, (at) => this.view.getUint8(at)),
          place,
        );
      case 0x6a: // LONG_BINGET
        return this.get(
          this.take(4, (at) => this.view.getUint32(at, true)),
          place,
        );
      default:
        return false;
    }
  }

  /** Indices follow each other, so that a large one takes no memory. */
  private put(index: number, place: number): boolean {
    if (index > this.memo.length) throw this.syntax(place, sentence`memo index ${index} follows ${this.memo.length} entries`);
    this.memo[index] = this.top(place);
    return true;
  }

  private get(index: number, place: number): boolean {
    const value = this.memo[index];
    if (value === undefined) throw this.syntax(place, sentence`memo ${index} is empty`);
    if (typeof value === 'object' && value !== null && !value.isClosed) throw this.unsafe(place, sentence`a container holds itself`);
    return this.push(value);
  }

  private push(value: Pickled): boolean {
    this.values++;
    this.stack.push(value);
    return true;
  }

  private top(place: number): Pickled {
    const value = this.stack.at(-1);
    if (value === undefined || value === mark) throw this.syntax(place, sentence`there is no value`);
    return value;
  }

  private topItems(count: number, place: number): Pickled[] {
    const items = this.stack.splice(Math.max(0, this.stack.length - count), count);
    if (items.length < count || items.includes(mark)) throw this.syntax(place, sentence`there are too few values`);
    return items as Pickled[];
  }

  private marked(place: number): Pickled[] {
    const from = this.stack.lastIndexOf(mark);
    if (from < 0) throw this.syntax(place, sentence`there is no mark`);
    const items = this.stack.splice(from + 1) as Pickled[];
    this.stack.pop();
    this.marks--;
    return items;
  }

  private take<T>(size: number, read: (at: number) => T): T {
    const from = this.at;
    if (size > this.bytes.length - from) throw this.syntax(from, sentence`it ends within a value`);
    this.at = from + size;
    return read(from);
  }

  private syntax(place: number, what: Sentence): ExpectedError {
    return this.error('snapshot-syntax', place, what, sentence`write it again with torch.cuda.memory._dump_snapshot`);
  }

  private unsafe(place: number, what: Sentence): ExpectedError {
    return this.error('snapshot-unsafe', place, what, sentence`do not load it with Python either; a snapshot holds only plain data`);
  }

  private tooDeep(place: number): ExpectedError {
    return this.unsafe(place, sentence`over ${mostDepth} containers are within each other`);
  }

  private tooLarge(place: number): ExpectedError {
    const remedy = sentence`record less: _record_memory_history(max_entries=100000, stacks="python")`;
    return this.error('snapshot-too-large', place, sentence`it has more than ${formatCount(mostValues)} values`, remedy);
  }

  private error(code: string, place: number, what: Sentence, remedy: Sentence): ExpectedError {
    return new ExpectedError(code, sentence`The pickle is refused at byte ${place}: ${what}`, remedy, fileStart(this.file));
  }
}
