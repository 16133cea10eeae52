import assert from 'node:assert/strict';
import { dropoutShares } from '../../../../../src/core/launchers/megatron/dropout-shares';
import { planWith } from '../../export/launchers/plans';

const { model } = planWith();

function shares(dropout: boolean, hiddenDropoutShare?: number, attentionDropoutShare?: number) {
  const { attention, hidden } = dropoutShares({
    dropout,
    model: {
      ...model,
      details: {
        ...model.details,
        ...(hiddenDropoutShare !== undefined && { hiddenDropoutShare }),
        ...(attentionDropoutShare !== undefined && { attentionDropoutShare }),
      },
    },
  });
  return [hidden, attention];
}

describe('dropoutShares', () => {
  it('are those of the config, of which one is 0 where it names only the other', () => {
    assert.deepEqual(shares(true, 0.05, 0.2), [0.05, 0.2]);
    assert.deepEqual(shares(true, 0.05), [0.05, 0]);
    assert.deepEqual(shares(false, undefined, 0.2), [0, 0.2]);
    assert.deepEqual(shares(false), [0, 0]);
  });

  it('follow the plan where it has dropout that the config has not, or none', () => {
    assert.deepEqual(shares(true), [0.1, 0.1]);
    assert.deepEqual(shares(true, undefined, 0.2), [0.1, 0.2]);
    assert.deepEqual(shares(false, 0.05, 0.2), [0, 0]);
  });
});
