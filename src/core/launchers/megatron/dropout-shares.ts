import type { LaunchSettings } from '../writing/launch-settings';
import { megatronDefaultValues } from './megatron-defaults';

/** Shares of attention's probabilities and of hidden states that a run drops out. */
interface DropoutShares {
  readonly attention: number;
  readonly hidden: number;
}

/**
 * Those of the model, of which its reader has taken the defaults of its class or launcher: one that is absent is 0. A plan may have dropout
 * that the model has not, at Megatron-LM's shares, or none though the model has it.
 */
export function dropoutShares({ dropout, model }: Pick<LaunchSettings, 'dropout' | 'model'>): DropoutShares {
  const { hiddenDropoutShare: hidden, attentionDropoutShare: attention } = model.details ?? {};
  if (!dropout) return { hidden: 0, attention: hidden === undefined ? (attention ?? 0) : 0 };
  if (hidden === undefined && attention === undefined)
    return { hidden: megatronDefaultValues.hiddenDropout, attention: megatronDefaultValues.attentionDropout };
  return { hidden: hidden ?? megatronDefaultValues.hiddenDropout, attention: attention ?? 0 };
}
