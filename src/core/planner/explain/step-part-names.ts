import { mean } from '../../numbers';
import { sentence, type Sentence } from '../../sentence';

/**
 * Where the time of a step goes, in the order in which it is reported: compute, memory traffic, kernel-launch overhead and collectives
 * inside layers, what is computed again, copies of activations and transfers that stages wait for; their idle time;
 * the gradient all-reduce and the optimizer after the pipeline.
 */
export const stepParts = [
  'math',
  'memory',
  'issue',
  'exchange',
  'recompute',
  'offload',
  'send',
  'bubble',
  'gradientExchange',
  'optimizer',
] as const;
export type StepPart = (typeof stepParts)[number];

/** What a step goes to, ms; the parts add up to the step. */
export type StepTimes = Readonly<Record<StepPart, number>>;

/** What a step goes to, the mean of all stages: the bubble is that of the step (`Candidate.bubbleRate`). Ms. */
export function meanParts(byStage: readonly StepTimes[]): StepTimes {
  return Object.fromEntries(stepParts.map((part) => [part, mean(byStage.map((each) => each[part]))])) as Record<StepPart, number>;
}

/** What each is called. */
export const stepPartNames: Readonly<Record<StepPart, Sentence>> = {
  math: sentence`compute`,
  memory: sentence`memory traffic`,
  issue: sentence`kernel-launch overhead`,
  exchange: sentence`collectives inside layers`,
  recompute: sentence`recompute`,
  offload: sentence`copies to and from the host`,
  send: sentence`P2P transfers`,
  bubble: sentence`bubble`,
  gradientExchange: sentence`gradient exchange`,
  optimizer: sentence`optimizer`,
};
