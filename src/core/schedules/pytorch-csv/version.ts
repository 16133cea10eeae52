import { actionType, isPass, isReduction, isWait } from './actions';

/**
 * The two forms of `compute_comms` files: since 2.15 PyTorch waits for each send and reduction by an action of its own, and refuses files
 * without; 2.14 and older know no such actions.
 */
export type CsvVersion = '2.14' | '2.15';

/** The PyTorch version that a file's actions need; null: passes only, which every version loads, or no action that only one version has. */
export function versionOf(types: Uint8Array): CsvVersion | null {
  if (types.some(isWait)) return types.some((type) => !isPass(type) && !isReduction(type)) ? '2.15' : null;
  const { sendForward, sendBackward, reduceGradients } = actionType;
  const begins = types.some((type) => type === sendForward || type === sendBackward);
  return begins || (types.includes(reduceGradients) && types.includes(actionType.unshard)) ? '2.14' : null;
}
