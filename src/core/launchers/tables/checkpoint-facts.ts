import { from } from '../../domain/located';
import type { Facts } from '../../run/facts';
import { choice, type FlagRead } from '../../languages/reads';
import { lenient, row, type FlagTable } from './table';
import { anyOf } from './reads';

/** A checkpoint by its path, or by a word that takes the latest. */
export const checkpointPath: FlagRead<boolean> = {
  ...anyOf((written) => (/^(?:none|null|false|no|\?\?\?|~|)$/i.test(written) ? undefined : true)),
  isPath: true,
};

/** A switch that leaves something out; switched off it sets nothing. */
export const leavesOut = anyOf((written) => (/^(?:true|yes|on|1|)$/i.test(written) ? false : undefined));

const stateDicts = lenient(
  choice({
    full_state_dict: 'FULL_STATE_DICT',
    local_state_dict: 'LOCAL_STATE_DICT',
    sharded_state_dict: 'SHARDED_STATE_DICT',
    1: 'FULL_STATE_DICT',
    2: 'LOCAL_STATE_DICT',
    3: 'SHARDED_STATE_DICT',
  }),
);

/** `state_dict_type` of FSDP under the names that a file gives it: a word, or the number of PyTorch's `StateDictType`. */
export function stateDictKeys(...names: readonly string[]): Pick<FlagTable, 'checkpointFormat'> {
  return { checkpointFormat: names.map((name) => row(name, stateDicts)) };
}

/** Settings of a checkpoint whose path is that of weights only, by the end of its name. */
export function weightsOnlyFact(facts: Facts, weightsOnly: RegExp): Pick<Facts, 'loadOptimizerState'> {
  const { loadCheckpoint, loadOptimizerState } = facts;
  if (loadCheckpoint?.name === undefined || loadOptimizerState !== undefined || !weightsOnly.test(loadCheckpoint.name)) return {};
  return { loadOptimizerState: { ...from(loadCheckpoint, false), name: loadCheckpoint.name } };
}
