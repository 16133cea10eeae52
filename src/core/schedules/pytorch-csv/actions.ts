import { operationKind, type Schedule } from '../schedule';

/**
 * Actions of a schedule as PyTorch writes them (torch.distributed.pipelining, torch 2.15): the four passes first, numbered as
 * `operationKind`, then sends and receives of activations (F) and gradients (B), waits for sends, then what FSDP does to the weights of a
 * chunk. Waits are new in 2.15.
 */
export const actionNames = [
  'F', 'B', 'I', 'W',
  'SEND_F', 'RECV_F', 'SEND_B', 'RECV_B',
  'WAIT_SEND_F', 'WAIT_SEND_B',
  'UNSHARD', 'RESHARD', 'REDUCE_GRAD', 'WAIT_REDUCE_GRAD',
] as const; // prettier-ignore

/** Index into `actionNames`. */
export const actionType = {
  ...operationKind,
  sendForward: 4,
  receiveForward: 5,
  sendBackward: 6,
  receiveBackward: 7,
  waitSendForward: 8,
  waitSendBackward: 9,
  unshard: 10,
  reshard: 11,
  reduceGradients: 12,
  waitReduceGradients: 13,
} as const;

/** Number of types that name a micro-batch. */
export const typesWithMicroBatch = 10;

/**
 * The actions of every rank in columns: rank r owns rows `rowStart[r]` to `rowStart[r + 1] - 1`. PyTorch's "stage" is the chunk here, its
 * "rank" our stage, and token slices count as micro-batches.
 */
export interface ActionTable {
  readonly rowStart: Uint32Array;
  /** One of `actionType` per row. */
  readonly type: Uint8Array;
  readonly chunk: Uint32Array;
  /** 0 where the type names none. */
  readonly microBatch: Uint32Array;
  /** 1 on the forward of an overlapped pair, whose backward is in the next row. */
  readonly overlapsNext: Uint8Array;
}

/** Whether an action waits for what another one began: for a send, or for gradients that are reduced. */
export function isWait(type: number): boolean {
  return type === actionType.waitSendForward || type === actionType.waitSendBackward || type === actionType.waitReduceGradients;
}

/** Whether an action is one of reducing gradients. */
export function isReduction(type: number): boolean {
  return type === actionType.reduceGradients || type === actionType.waitReduceGradients;
}

/** Whether an action computes: a forward or a backward pass. */
export function isPass(type: number): boolean {
  return type <= operationKind.backwardWeight;
}

/** `2F0`, `1UNSHARD`. */
export function actionText(type: number, chunk: number, microBatch: number): string {
  return `${chunk}${actionNames[type] ?? ''}${type < typesWithMicroBatch ? microBatch : ''}`;
}

/** The action of a row, by itself. */
export function rowText({ type, chunk, microBatch }: ActionTable, row: number): string {
  return actionText(type[row] ?? 0, chunk[row] ?? 0, microBatch[row] ?? 0);
}

/** The cell that begins with a row: its action, or the overlapped pair. */
export function cellText(table: ActionTable, row: number): string {
  return table.overlapsNext[row] === 1 ? `(${rowText(table, row)};${rowText(table, row + 1)})OVERLAP_F_B` : rowText(table, row);
}

/** Rank of each row. */
export function ranksOfRows({ rowStart, type }: ActionTable): Uint32Array {
  const ranks = new Uint32Array(type.length);
  for (let rank = 0; rank + 1 < rowStart.length; rank++) ranks.fill(rank, rowStart[rank], rowStart[rank + 1]);
  return ranks;
}

/** The operations of a schedule as actions; a unit counts as a micro-batch. */
export function toActions({ rowStart, kind, chunk, unit, overlapsNext }: Schedule): ActionTable {
  return { rowStart, type: kind, chunk, microBatch: unit, overlapsNext: overlapsNext ?? new Uint8Array(kind.length) };
}

/**
 * The two forms of `compute_comms` files: since 2.15 PyTorch waits for each send and reduction by an action of its own, and refuses files
 * without; 2.14 and older know no such actions.
 */
export type CsvVersion = '2.14' | '2.15';

/** The PyTorch version that a file's actions need; null: passes only, which every version loads, or no action that only one version has. */
export function detectCsvVersion(types: Uint8Array): CsvVersion | null {
  if (types.some(isWait)) return types.some((type) => !isPass(type) && !isReduction(type)) ? '2.15' : null;
  const { sendForward, sendBackward, reduceGradients } = actionType;
  const begins = types.some((type) => type === sendForward || type === sendBackward);
  return begins || (types.includes(reduceGradients) && types.includes(actionType.unshard)) ? '2.14' : null;
}
