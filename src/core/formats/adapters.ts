import type { Finding } from '../findings';
import { sentence } from '../sentence';
import type { Place } from '../spec/located';

/**
 * That a run trains adapters alone, as LoRA does: few of its weights have gradients and optimizer states.
 * @param name the setting that says so.
 */
export function adaptersAt(place: Place, name: string): Finding {
  return {
    code: 'adapters',
    severity: 'information',
    place,
    message: sentence`The run trains adapters (${name}), which is not planned`,
    remedy: sentence`take the setting out of a copy to plan the training of all weights`,
    fixes: [],
  };
}
