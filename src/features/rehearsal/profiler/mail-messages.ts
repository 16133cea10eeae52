import type { Item } from '../core/handling';

/** What the mail thread receives when it starts. */
export interface MailTask {
  readonly task: 'mail';
  /** Whose mail. */
  readonly stage: number;
  /** Where each stage listens. */
  readonly addresses: readonly string[];
}

/** To the thread: a tensor of fp32 for another stage, and when it was handed over, ms of the machine's clock. */
export interface Letter {
  readonly to: number;
  readonly item: Item;
  readonly dims: readonly number[];
  readonly data: ArrayBuffer;
  readonly sentMs: number;
}

/** From the thread: one that came. */
export interface Received {
  readonly from: number;
  readonly item: Item;
  readonly dims: readonly number[];
  readonly bytes: number;
  readonly data: ArrayBuffer;
  readonly sentMs: number;
  readonly arrivedMs: number;
}

export function isMailTask(data: unknown): data is MailTask {
  return typeof data === 'object' && data !== null && 'task' in data && data.task === 'mail';
}
