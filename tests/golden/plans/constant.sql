select 1 as one
-- plan
Project 1 AS one
  Values [] ()
