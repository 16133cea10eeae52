import type { Failure } from '../core';
import { sentence } from '../../../core/sentence';
import { quoted } from '../../../core/text';
import { usage } from '../../../cli/command';

/** Options of `terapipe plan` that say what is lost. */
export const recoveryOptions = {
  without: {
    value: 'nodeN',
    help: "what to do when a node, counted from 0, is lost: other replicas do its stages' work, their layers spread over the rest, or fewer replicas; each priced",
  },
  slow: {
    value: 'stageN=F',
    help: 'the same when a stage of one replica takes F times as long (stage5=1.2)',
    also: { value: 'RUN', help: 'the straggler that a Chrome trace or step times show' },
  },
} as const;

/** What was lost; a path of a measured run whose straggler is meant. */
export type Loss = Failure | string;

/** What was lost; a path of a measured run whose straggler is meant. @throws ExpectedError `usage`. */
export function parseLoss(without: string | undefined, slow: string | undefined): Loss | null {
  if (without !== undefined) {
    const [, node] = /^(?:node)?(\d{1,6})$/.exec(without) ?? [];
    if (node === undefined) throw usage(sentence`--without is ${quoted(without)}`, sentence`name a node, counted from 0, as node3`);
    return { kind: 'without', node: Number(node) };
  }
  if (slow === undefined) return null;
  const [, stage, written] = /^(?:stage)?(\d{1,6})=(\d+(?:\.\d+)?)$/.exec(slow) ?? [];
  if (stage === undefined) return slow;
  const factor = Number(written);
  if (factor > 1 && factor <= 100) return { kind: 'slow', stage: Number(stage), factor };
  throw usage(sentence`--slow is ${quoted(slow)}`, sentence`give a factor above 1, at most 100, as stage5=1.2`);
}
