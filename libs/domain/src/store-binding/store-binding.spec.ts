import { at, given, later } from '../testing.js';
import { storeBinding, type StoreBindingEvent } from './store-binding.js';

const sandbox = { storeId: 'a', environment: 'sandbox' } as const;
const key = { keyId: 'k1', check: 'c1' };
const bound: StoreBindingEvent = { type: 'StoreBound', at, data: sandbox };
const keyBound: StoreBindingEvent = { type: 'MasterKeyBound', at, data: key };
const bind = (data: { storeId: string; environment: 'sandbox' | 'production' }) =>
  ({ type: 'BindStore', at: later, data }) as const;
const bindKey = (data: typeof key) => ({ type: 'BindMasterKey', at: later, data }) as const;

describe('a store', () => {
  it('is bound to the environment of its first process', () => {
    given(storeBinding).when(bind(sandbox)).then({ type: 'StoreBound', at: later, data: sandbox });
    given(storeBinding, bound)
      .when(bind({ storeId: 'b', environment: 'sandbox' }))
      .thenNothing();
    given(storeBinding, bound)
      .when(bind({ storeId: 'b', environment: 'production' }))
      .thenRefused('OTHER_ENVIRONMENT');
  });

  it('is bound to the MAC root of the first process that has one, whatever its master key is', () => {
    given(storeBinding, bound)
      .when(bindKey(key))
      .then({ type: 'MasterKeyBound', at: later, data: key });
    for (const keyId of ['k1', 'k2']) {
      const [same, other] = [bindKey({ keyId, check: 'c1' }), bindKey({ keyId, check: 'c2' })];
      given(storeBinding, bound, keyBound).when(same).thenNothing();
      given(storeBinding, bound, keyBound).when(other).thenRefused('OTHER_MAC_ROOT');
    }
  });

  it('has an environment before it has a key', () => {
    given(storeBinding).when(bindKey(key)).thenRefused('NOT_BOUND');
  });
});
