import { quoted } from '../../text';
import { actionNames, isPass, typesWithMicroBatch } from './actions';
import { operationKind } from '../schedule';

/** An action and where it stands in its cell. */
export interface CellAction {
  readonly type: number;
  readonly chunk: number;
  readonly microBatch: number;
  readonly start: number;
  readonly end: number;
}

/** What is wrong with a cell. */
export interface CellFault {
  readonly code: 'action' | 'old-letters';
  readonly message: string;
  readonly remedy: string;
}

/** Chunks and micro-batches have at most as many digits. */
const digits = 6;
const names = [...actionNames].sort((a, b) => b.length - a.length).join('|');
const action = new RegExp(`^(\\d{1,${digits}})(${names})(\\d{0,${digits}})$`);
const typeOf = new Map<string, number>(actionNames.map((name, type) => [name, type]));

/**
 * The actions of a cell that is not blank: one, or the forward and backward of `(0F1;3B0)OVERLAP_F_B`, in this order. Strict, where PyTorch's own reader takes whatever begins with an action
 * (`0F0xyz` and `0BW1` run as `0F0` and `0B`). Null for anything else; `faultOfCell` says why.
 */
export function actionsOfCell(text: string): readonly CellAction[] | null {
  const single = actionOf(text, 0);
  if (single !== null) return [single];
  const inner = /^\(([^()]*)\)OVERLAP_F_B$/.exec(text)?.[1];
  if (inner === undefined) return null;
  const middle = inner.indexOf(';');
  if (middle === -1) return null;
  const pair = [actionOf(inner.slice(0, middle), 1), actionOf(inner.slice(middle + 1), middle + 2)];
  const forward = pair.find((found) => found?.type === operationKind.forward);
  const backward = pair.find((found) => found?.type === operationKind.backward || found?.type === operationKind.backwardInput);
  return forward && backward ? [forward, backward] : null;
}

function actionOf(text: string, offset: number): CellAction | null {
  const written = text.trim();
  const [, chunk = '', name = '', microBatch = ''] = action.exec(written) ?? [];
  const type = typeOf.get(name);
  if (type === undefined || type < typesWithMicroBatch !== (microBatch !== '')) return null;
  const start = offset + text.indexOf(written);
  return { type, chunk: Number(chunk), microBatch: Number(microBatch), start, end: start + written.length };
}

const started = new RegExp(`^\\d+(?:${names})\\d*`);
const notation = 'write a stage, one of F, B, I and W, and a micro-batch: 2F0';

/** Why a cell is no action. */
export function faultOfCell(text: string): CellFault {
  const fault = (why: string, remedy: string): CellFault => ({ code: 'action', message: `${quoted(text)} ${why}`, remedy });
  if (/^\d+BW\d*$/.test(text)) return oldLetters(text);
  if (text.startsWith('\uFEFF')) return fault('begins with a byte-order mark', 'save the file as UTF-8 without one');
  if (/^(none|null|nan|-)$/i.test(text)) return fault('is no action of a schedule', 'leave the cell empty where a rank idles');
  if (/\d{7}/.test(text)) return fault(`has a number of more than ${digits} digits`, notation);
  if (started.test(text.toUpperCase()) && !started.test(text))
    return fault('is no action of a schedule', 'write its letters in upper case');
  if (text.startsWith('(')) return fault('is no overlapped pair', 'write a forward and a backward: (0F1;3B0)OVERLAP_F_B');
  const [known] = started.exec(text) ?? [];
  if (known === undefined) return fault('is no action of a schedule', text.includes(';') ? 'put commas between actions' : notation);
  if (known !== text)
    return text[known.length] === ';'
      ? fault('are several actions', 'put commas between actions')
      : fault(`goes on after ${known}, which PyTorch would run without a word`, `write ${known}`);
  const type = actionNames.findIndex((name) => new RegExp(`^\\d+${name}\\d*$`).test(text));
  return type < typesWithMicroBatch
    ? fault('names no micro-batch', isPass(type) ? notation : `write it behind: ${text}0`)
    : fault(`names a micro-batch, and ${actionNames[type] ?? ''} is of a whole stage`, `write ${text.replace(/\d+$/, '')}`);
}

/** The letters that PyTorch's tests still have files in (zb1p_*.csv): B was the gradient of the input and BW the full backward. */
export function oldLetters(text: string): CellFault {
  return {
    code: 'old-letters',
    message: `${quoted(text)} is in the letters of an older PyTorch, where B was the backward for inputs and BW the full one`,
    remedy: 'write I for B, and B for BW',
  };
}

/** Whether a text is a schedule by the look of its first cell. */
export function isScheduleCsv(text: string): boolean {
  const [first = ''] = /[^,\s"\uFEFF][^,\r\n]*/.exec(text.slice(0, 10_000)) ?? [];
  return new RegExp(`^\\(?\\s*\\d+(?:${names}|BW)\\d*`).test(first);
}
