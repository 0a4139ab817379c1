-- A session keeps the plans of a function and of a foreign key. Those that were made while the retry table was empty, as
-- it nearly always is, read all of it for each message when thousands wait. They are now made for the table as it is. The
-- foreign key is checked within the functions.
ALTER FUNCTION defer_message SET plan_cache_mode = force_custom_plan;
ALTER FUNCTION settle_deferred_message SET plan_cache_mode = force_custom_plan;
