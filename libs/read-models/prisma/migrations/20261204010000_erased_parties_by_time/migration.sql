-- Contacts and originators that were erased, for lists as of a time before their erasure. The other indexes leave them out.
CREATE INDEX contacts_erased ON contacts (organization_id, created_at DESC, contact_id DESC)
  WHERE erased_at IS NOT NULL;
CREATE INDEX originators_erased ON originators (organization_id, created_at DESC, originator_id DESC)
  WHERE erased_at IS NOT NULL;
