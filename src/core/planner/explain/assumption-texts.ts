import { counted, joinClauses, listOf, say, sentence, type Sentence, type Value } from '../../sentence';
import { reportedAssumptions, type Assumption } from '../../domain/request';
import { formatNumber } from '../../format';
import { slowdownText, worthSaying } from './slower';

/*
 * The text on assumptions. What they move is in assumed.ts, which simulates: pages load it when they are idle.
 */

/** What decides most, in the order in which it is shown where effects are not known. */
export const deciding = [
  'cluster.gpu',
  'cluster.nodes',
  'training.globalBatch',
  'cluster.links.nicGBps',
  'training.attentionKernel',
  'training.recompute',
] as const;
export type DecidingKey = (typeof deciding)[number];

/** Another value of what is assumed, and the step for as many tokens with it, over that of the plan, less 1. */
export interface AssumedMove {
  readonly to: Value;
  readonly slower: number;
}

/** An assumption with what other values of it would make of the step; none where that is not known. */
export interface WeighedAssumption extends Assumption {
  readonly moves: readonly AssumedMove[];
}

/** The assumptions that people see, those that decide most first, then the others in their order; without their effects. */
export function assumptionsByWeight(assumptions: readonly Assumption[]): readonly Assumption[] {
  const place = ({ key }: Assumption): number => {
    const at = (deciding as readonly string[]).indexOf(key);
    return at < 0 ? deciding.length : at;
  };
  return reportedAssumptions(assumptions).toSorted((a, b) => place(a) - place(b));
}

/** `flash2: 68 % slower; flash3: 38 % faster`; null where nothing is known. */
export function movesText({ moves }: Pick<WeighedAssumption, 'moves'>): Sentence | null {
  if (moves.length === 0) return null;
  const alike: { readonly names: Value[]; readonly cost: Sentence }[] = [];
  for (const { to, slower } of moves) {
    const cost = slowdownText(slower);
    const last = alike.at(-1);
    if (last !== undefined && say(last.cost) === say(cost)) last.names.push(to);
    else alike.push({ names: [to], cost });
  }
  return sentence`${joinClauses(alike.map(({ names, cost }) => sentence`${listOf(names)}: ${cost}`))}`;
}

/** What the deciding settings are called in an answer, and their values there. */
const decidingNames: Readonly<Record<DecidingKey, (value: string) => Value>> = {
  'cluster.gpu': (value) => sentence`GPU ${value}`,
  'cluster.nodes': (value) => counted(Number(value), 'node'),
  'training.globalBatch': (value) => sentence`global batch ${value}`,
  'cluster.links.nicGBps': (value) => sentence`network ${formatNumber(8 * Number(value))} Gbit/s a node`,
  'training.attentionKernel': (value) => sentence`attention kernel ${value}`,
  'training.recompute': (value) => sentence`recompute ${value}`,
};

/** Assumptions that an answer names. */
const shownWeighty = 2;

/**
 * The assumptions that move the step most, each with the other value that moves it most: `recompute none (full: 35 % slower); network
 * 3,200 Gbit/s a node (800 Gbit/s: 3.6 % slower); 18 more with --all`. Null where nothing is assumed.
 * @param assumed as `weighedAssumptions` orders them.
 */
export function weightiestText(assumed: readonly WeighedAssumption[], hasAll = true): Sentence | null {
  const weighty = assumed.flatMap(({ key, value, moves }) => {
    const [most] = moves.toSorted((a, b) => Math.abs(Math.log1p(b.slower)) - Math.abs(Math.log1p(a.slower)));
    if (most === undefined || Math.abs(most.slower) < worthSaying || !Object.hasOwn(decidingNames, key)) return [];
    return [sentence`${decidingNames[key as DecidingKey](value)} (${most.to}: ${slowdownText(most.slower)})`];
  });
  const shown = weighty.slice(0, shownWeighty);
  const left = assumed.length - shown.length;
  if (assumed.length === 0) return null;
  const count = shown.length > 0 ? sentence`${left} more` : hasAll ? sentence`${left}` : sentence`${left} smaller ones`;
  const rest = hasAll ? sentence`${count} with --all` : count;
  return sentence`${joinClauses([...shown, ...(left === 0 ? [] : [rest])])}`;
}
