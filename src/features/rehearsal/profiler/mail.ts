import type { Tensor } from 'onnxruntime-node';
import type { Item } from '../core/handling';
import type { Transfer } from '../protocol';
import type { HandedOn } from './stage';

/** Between the processes of stages. */
export interface Mail {
  /** Returns at once. */
  readonly send: (toStage: number, handed: HandedOn) => void;
  /** Resolves when it is here. */
  readonly take: (item: Item) => Promise<Tensor>;
  /** How long what came since the last call was on its way. */
  readonly transfers: () => readonly Transfer[];
}
