import type { TextRange } from '../../domain/located';
import { quoted } from '../../text';
import { actionNames, isPass, typesWithMicroBatch } from './actions';
import { operationKind } from '../schedule';
import { sentence, type Sentence } from '../../sentence';

/** An action, and its position in the text. */
export interface LocatedAction {
  readonly type: number;
  readonly chunk: number;
  readonly microBatch: number;
  readonly start: number;
  readonly end: number;
}

/** What is wrong with a cell. */
interface CellFault {
  readonly code: 'action' | 'old-letters';
  readonly message: Sentence;
  readonly remedy: Sentence;
}

/** The most digits of a chunk or a micro-batch. */
const mostDigits = 6;
/** Longer names first: `WAIT_SEND_F` begins as `W` does. */
const byLength = [...actionNames.keys()].sort((a, b) => (actionNames[b]?.length ?? 0) - (actionNames[a]?.length ?? 0));
const names = byLength.map((type) => actionNames[type]).join('|');

const pairEnding = ')OVERLAP_F_B';

/**
 * The actions of a cell from `from` to `to`, blanks around them aside: one, or the forward and backward of `(0F1;3B0)OVERLAP_F_B`, in this
 * order. Strict, where PyTorch's own reader takes whatever begins with an action (`0F0xyz` and `0BW1` run as `0F0` and `0B`). Null for
 * anything else; `faultOfCell` explains why.
 */
export function actionsAt(
  text: string,
  from: number,
  to: number,
): LocatedAction | readonly [forward: LocatedAction, backward: LocatedAction] | null {
  const start = spacesEnd(text, from, to);
  const end = spacesStart(text, start, to);
  if (text[start] !== '(') return actionAt(text, start, end);
  const inner = end - pairEnding.length;
  if (!text.startsWith(pairEnding, inner)) return null;
  let middle = start + 1;
  while (middle < inner && text[middle] !== ';') middle += 1;
  const first = actionAt(text, start + 1, middle);
  const second = actionAt(text, middle + 1, inner);
  if (first === null || second === null) return null;
  return isPair(first, second) ? [first, second] : isPair(second, first) ? [second, first] : null;
}

function isPair(forward: LocatedAction, backward: LocatedAction): boolean {
  return (
    forward.type === operationKind.forward && (backward.type === operationKind.backward || backward.type === operationKind.backwardInput)
  );
}

function actionAt(text: string, from: number, to: number): LocatedAction | null {
  const start = spacesEnd(text, from, to);
  const end = spacesStart(text, start, to);
  const nameStart = digitsEnd(text, start, end);
  if (nameStart === start || nameStart - start > mostDigits) return null;
  const type = typeAt(text, nameStart);
  const nameEnd = nameStart + (actionNames[type] ?? '').length;
  if (type === -1 || digitsEnd(text, nameEnd, end) !== end || end - nameEnd > mostDigits || type < typesWithMicroBatch !== nameEnd < end)
    return null;
  return { type, chunk: numberAt(text, start, nameStart), microBatch: numberAt(text, nameEnd, end), start, end };
}

/** Where blanks from `from` on end. */
export function spacesEnd(text: string, from: number, to: number): number {
  let at = from;
  while (at < to && (text[at] === ' ' || text[at] === '\t')) at += 1;
  return at;
}

/** Where the blanks before `to` begin. */
export function spacesStart(text: string, from: number, to: number): number {
  let at = to;
  while (at > from && (text[at - 1] === ' ' || text[at - 1] === '\t')) at -= 1;
  return at;
}

function typeAt(text: string, at: number): number {
  return byLength.find((type) => text.startsWith(actionNames[type] ?? '', at)) ?? -1;
}

function digitsEnd(text: string, from: number, end: number): number {
  let at = from;
  for (; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code < 48 || code > 57) break;
  }
  return at;
}

function numberAt(text: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = 10 * value + text.charCodeAt(at) - 48;
  return value;
}

const started = new RegExp(`^\\d+(?:${names})\\d*`);
const notation = sentence`write a stage, one of F, B, I and W, and a micro-batch: 2F0`;

/** Why a cell is not an action. */
export function faultOfCell(text: string): CellFault {
  const fault = (why: Sentence, remedy: Sentence): CellFault => ({ code: 'action', message: sentence`${quoted(text)} ${why}`, remedy });
  if (/^\d+BW\d*$/.test(text)) return oldLetters(text);
  if (text.startsWith('\uFEFF')) return fault(sentence`begins with a byte-order mark`, sentence`save the file as UTF-8 without one`);
  if (/^(none|null|nan|-)$/i.test(text))
    return fault(sentence`is not an action of a schedule`, sentence`leave the cell empty where a rank idles`);
  if (/\d{7}/.test(text)) return fault(sentence`has a number of more than ${mostDigits} digits`, notation);
  if (started.test(text.toUpperCase()) && !started.test(text))
    return fault(sentence`is not an action of a schedule`, sentence`write its letters in upper case`);
  if (text.startsWith('('))
    return fault(sentence`is not an overlapped pair`, sentence`write a forward and a backward: (0F1;3B0)OVERLAP_F_B`);
  const [known] = started.exec(text) ?? [];
  if (known === undefined)
    return fault(sentence`is not an action of a schedule`, text.includes(';') ? sentence`put commas between actions` : notation);
  if (known !== text)
    return text[known.length] === ';'
      ? fault(sentence`has several actions`, sentence`put commas between actions`)
      : fault(sentence`has trailing text after ${known}; PyTorch ignores it silently`, sentence`write ${known}`);
  const type = actionNames.findIndex((name) => new RegExp(`^\\d+${name}\\d*$`).test(text));
  return type < typesWithMicroBatch
    ? fault(sentence`names no micro-batch`, isPass(type) ? notation : sentence`append it: ${text}0`)
    : fault(
        sentence`names a micro-batch, but ${actionNames[type] ?? ''} applies to a whole stage`,
        sentence`write ${text.replace(/\d+$/, '')}`,
      );
}

/** PyTorch's tests still have files with these letters (zb1p_*.csv): B was the gradient of the input and BW the full backward. */
export function oldLetters(text: string): CellFault {
  return {
    code: 'old-letters',
    message: sentence`${quoted(text)} uses the letters of an older PyTorch, where B was the backward for inputs and BW the full one`,
    remedy: sentence`write I for B, and B for BW`,
  };
}

/** How an action of today's or an older PyTorch begins; mistakes may follow. */
const looksLikeAction = /^\(?\s*\d+(?:(?:F|BW?|I|W|(?:WAIT_)?SEND_[FB]|RECV_[FB])\d|UNSHARD|RESHARD|(?:WAIT_)?REDUCE_GRAD)/;

/** UTF-16 units that `isScheduleCsv` looks at. */
export const sniffed = 4_096;

/** Whether a CSV is a schedule: most of its first cells are actions, or almost. */
export function isScheduleCsv(text: string): boolean {
  const cells = text
    .slice(0, sniffed)
    .split(/[,\r\n]/)
    .slice(0, text.length > sniffed ? -1 : undefined)
    .map((cell) => cell.replace(/["\uFEFF]/g, '').trim())
    .filter((cell) => cell !== '');
  return 2 * cells.filter((cell) => looksLikeAction.test(cell)).length > cells.length;
}

/** The action or overlapped pair in the cell at an offset, and its range. Null between cells, and for a cell without an action. */
export function actionsAround(
  text: string,
  offset: number,
): { readonly actions: readonly LocatedAction[]; readonly range: TextRange } | null {
  let from = Math.min(offset, text.length);
  while (from > 0 && !isSeparator(text.charCodeAt(from - 1))) from -= 1;
  let to = offset;
  while (to < text.length && !isSeparator(text.charCodeAt(to))) to += 1;
  const found = actionsAt(text, from, to) ?? actionsAt(text, text[from] === '"' ? from + 1 : from, text[to - 1] === '"' ? to - 1 : to);
  if (found === null) return null;
  const range = { start: spacesEnd(text, from, to), end: spacesStart(text, from, to) };
  return offset < range.start || offset > range.end ? null : { actions: 'type' in found ? [found] : found, range };
}

/** Whether a character ends a cell: a comma or a line break. */
export function isSeparator(code: number): boolean {
  return code === 44 || code === 10 || code === 13;
}
